//! What can go wrong between here and a socket.

use std::io::{Error, ErrorKind};

/// A failure to listen, to connect or to receive files.
///
/// `Display` has no address: logs may show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub enum NetError {
    /// Somebody else listens there.
    #[error("port {port} is in use")]
    PortInUse { port: u16 },
    /// Ports below 1024 need rights.
    #[error("port {port} is not allowed")]
    PortNotAllowed { port: u16 },
    /// The address to bind is another machine's.
    #[error("the address to listen on is not one of this machine")]
    AddressNotHere { address: String },
    /// Listening failed otherwise.
    #[error("listening on port {port} failed: {reason}")]
    Listen { port: u16, reason: String },
    /// Not an address at all.
    #[error("the address cannot be read")]
    BadAddress { address: String },
    /// Name resolution found nothing.
    #[error("the name is not known")]
    NameNotKnown { address: String },
    /// The machine answers, nobody listens.
    #[error("connection refused")]
    Refused { address: String },
    /// There is no way there.
    #[error("no route there")]
    NotReachable { address: String },
    /// Nothing answers.
    #[error("no answer")]
    TimedOut { address: String },
    /// Connecting failed otherwise.
    #[error("connecting failed: {reason}")]
    Connect { address: String, reason: String },
    /// No thread could be started.
    #[error("a thread could not be started: {0}")]
    NoThreads(String),
    /// Received files cannot be kept.
    #[error("the folder for received files cannot be used: {reason}")]
    Folder { reason: String },
}

impl NetError {
    pub(crate) fn listen(error: &Error, address: &str, port: u16) -> Self {
        match error.kind() {
            ErrorKind::AddrInUse => Self::PortInUse { port },
            ErrorKind::PermissionDenied => Self::PortNotAllowed { port },
            ErrorKind::AddrNotAvailable => Self::AddressNotHere { address: address.to_owned() },
            _ => Self::Listen { port, reason: error.to_string() },
        }
    }

    pub(crate) fn connect(error: &Error, address: &str) -> Self {
        let address = address.to_owned();
        match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Self::Refused { address },
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
                Self::NotReachable { address }
            }
            ErrorKind::TimedOut => Self::TimedOut { address },
            _ => Self::Connect { address, reason: error.to_string() },
        }
    }

    pub(crate) fn threads(error: &Error) -> Self {
        Self::NoThreads(error.to_string())
    }
}
