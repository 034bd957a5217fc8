//! Sending a file to somebody's files folder, as ChimeraX's "Send to Quest" does.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use super::{HostAddress, NetError};
use crate::wire::{FILE_PORT, Limits, file_push};

/// Why a file was not sent; [`crate::notice::Notice`] says it to people.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// Nobody takes files there.
    #[error("{address} answers, but nobody takes files there")]
    NobodyReceives {
        /// As typed, with the port.
        address: String,
    },
    /// The receiver could not be reached.
    #[error(transparent)]
    Net(NetError),
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    File(io::Error),
    /// The file is too long for the format or for receivers.
    #[error("the file has {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// Its size.
        bytes: u64,
        /// The cap.
        limit: u64,
    },
    /// The name would be refused.
    #[error("{0}")]
    Name(#[from] file_push::FilePushError),
    /// The connection broke.
    #[error("the receiver stopped taking the file: {0}")]
    Broken(io::Error),
    /// Another file was put in its place while it was sent.
    #[error("the file changed while it was being sent")]
    Changed,
}

impl From<NetError> for PushError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Refused { address } => Self::NobodyReceives { address },
            error => Self::Net(error),
        }
    }
}

/// Sends one file and tells how far it is; blocks until the other side has it.
/// The receiver never answers, so that it was stored can only be assumed.
pub fn push_file(address: &str, path: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(), PushError> {
    let mut file = File::open(path).map_err(PushError::File)?;
    let metadata = file.metadata().map_err(PushError::File)?;
    if !metadata.is_file() {
        return Err(PushError::File(ErrorKind::IsADirectory.into()));
    }
    let bytes = metadata.len();
    let limit = Limits::default().model_bytes as u64;
    if bytes > limit {
        return Err(PushError::TooLong { bytes, limit });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = file_push::base_name(&name)?;
    let head = file_push::encode_head(&name, bytes).ok_or(PushError::TooLong { bytes, limit })?;

    let mut stream = connect(&HostAddress::parse(address, FILE_PORT)?)?;
    stream.write_all(&head).map_err(PushError::Broken)?;
    let mut buffer = vec![0; 256 << 10];
    let mut sent = 0;
    progress(sent, bytes);
    while sent < bytes {
        let n = uninterrupted(|| file.read(&mut buffer)).map_err(PushError::File)?;
        if n == 0 || sent + n as u64 > bytes {
            return Err(PushError::Changed);
        }
        stream.write_all(&buffer[..n]).map_err(PushError::Broken)?;
        sent += n as u64;
        progress(sent, bytes);
    }
    stream.shutdown(Shutdown::Write).map_err(PushError::Broken)?;
    // A receiver of ours closes once the file is stored; LookSee does not close.
    let wait = Duration::from_millis(1500);
    stream.set_read_timeout(Some(wait)).map_err(PushError::Broken)?;
    match uninterrupted(|| stream.read(&mut buffer)) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
        Err(error) => Err(PushError::Broken(error)),
    }
}

/// Again, where a signal came in between.
fn uninterrupted(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn connect(address: &HostAddress) -> Result<TcpStream, NetError> {
    let text = address.to_string();
    let mut last = NetError::NameNotKnown { address: text.clone() };
    for socket_address in (address.host.as_str(), address.port).to_socket_addrs().into_iter().flatten() {
        match TcpStream::connect_timeout(&socket_address, Duration::from_secs(5)) {
            Ok(stream) => {
                // Helps a little; not needed.
                let _ = stream.set_nodelay(true);
                // A receiver that takes nothing for this long is gone.
                let _ = stream.set_write_timeout(Some(Duration::from_secs(30)));
                return Ok(stream);
            }
            Err(error) => last = NetError::connect(&error, &text),
        }
    }
    Err(last)
}
