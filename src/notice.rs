//! What a person is told when something goes wrong: what happened, and what to
//! do. The one place where errors become such text.

use std::io::{self, ErrorKind};

use crate::{
    net::{NetError, PushError},
    session::LeaveReason,
};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something did not work, the rest goes on.
    Warning,
    /// What was asked for could not be done.
    Error,
}

/// A text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub what_happened: String,
    /// One sentence; empty where there is nothing to do.
    pub what_to_do: String,
}

impl Notice {
    /// Good to know.
    pub fn info(what_happened: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { severity: Severity::Info, what_happened: what_happened.into(), what_to_do: what_to_do.into() }
    }

    /// Something did not work, the rest goes on.
    pub fn warning(what_happened: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::info(what_happened, what_to_do) }
    }

    /// What was asked for could not be done.
    pub fn error(what_happened: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::info(what_happened, what_to_do) }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what_happened)?;
        if !self.what_to_do.is_empty() {
            write!(f, " {}", self.what_to_do)?;
        }
        Ok(())
    }
}

impl From<&NetError> for Notice {
    fn from(error: &NetError) -> Self {
        match error {
            NetError::PortInUse { port } => Self::error(
                format!("Port {port} is in use by another program."),
                "Close the other meeting program, or choose another port with --port.",
            ),
            NetError::PortNotAllowed { port } => Self::error(
                format!("This system does not allow port {port}."),
                "Choose a port above 1023 with --port.",
            ),
            NetError::AddressNotHere { address } => Self::error(
                format!("{address} is not an address of this machine."),
                "Leave out --bind, or give it one of this machine's own addresses.",
            ),
            NetError::Listen { port, reason } => Self::error(
                format!("Port {port} cannot be opened: {reason}."),
                "Try another port with --port.",
            ),
            NetError::BadAddress { address } => Self::error(
                format!("\"{address}\" is no address."),
                "Give it as 192.168.1.20, as 192.168.1.20:21213, or as the name of a machine.",
            ),
            NetError::NameNotKnown { address } => Self::error(
                format!("The name {address} is not known in this network."),
                "Check its spelling, or use the numbers that the host's screen shows.",
            ),
            NetError::Refused { address } => Self::error(
                format!("{address} answers, but no meeting is open there."),
                "Check the port, and ask the host to start the meeting.",
            ),
            NetError::NotReachable { address } => Self::error(
                format!("{address} cannot be reached."),
                "Check that both machines are in the same network; guest networks often keep machines apart.",
            ),
            NetError::TimedOut { address } => Self::error(
                format!("{address} does not answer."),
                "Check the address; a firewall on the host's machine may block the port.",
            ),
            NetError::Connect { address, reason } => Self::error(
                format!("{address} cannot be reached: {reason}."),
                "Check the address and the network.",
            ),
            NetError::NoThreads(reason) => Self::error(
                format!("The system gives no more threads: {reason}."),
                "Close other programs and try again.",
            ),
            NetError::Folder { reason } => Self::error(
                format!("The folder for received files cannot be used: {reason}."),
                "Choose another one with --files.",
            ),
        }
    }
}

impl From<&PushError> for Notice {
    fn from(error: &PushError) -> Self {
        match error {
            PushError::NobodyReceives { address } => Self::error(
                format!("{address} answers, but nobody takes files there."),
                "Check the port, and that receiving files is switched on there.",
            ),
            // The advice for meetings would be that of another port.
            PushError::Net(NetError::BadAddress { address }) => Self::error(
                format!("\"{address}\" is no address."),
                "Give it as 192.168.1.20, as 192.168.1.20:21212, or as the name of a machine.",
            ),
            PushError::Net(NetError::NameNotKnown { address }) => Self::error(
                format!("The name {address} is not known in this network."),
                "Check its spelling, or use the numbers that the receiver's screen shows.",
            ),
            PushError::Net(error) => Self::from(error),
            PushError::File(error) => Self::error(
                format!("It cannot be read: {}.", io_text(error)),
                match error.kind() {
                    ErrorKind::NotFound => "Check the name and the folder.",
                    ErrorKind::IsADirectory => "Name the files in it.",
                    _ => "",
                },
            ),
            PushError::TooLong { bytes, limit } => Self::error(
                format!("It has {bytes} bytes, and the limit is {limit}."),
                "Make it smaller: fewer models in one file, or coarser surfaces.",
            ),
            PushError::Name(error) => {
                Self::error(format!("Receivers would refuse it: {error}."), "Rename it.")
            }
            PushError::Broken(error) => Self::error(
                format!("The receiver stopped taking it: {}.", io_text(error)),
                "Its disk may be full or the network gone; the log over there may say more. Send it again.",
            ),
            PushError::Changed => Self::error(
                "It was changed while it was being sent, so the receiver keeps nothing of it.",
                "Send it again once it is written.",
            ),
        }
    }
}

/// What the system says, without its number and in words of our own for what
/// happens every day.
fn io_text(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "it is not allowed".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "it closed the connection".to_owned(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it took nothing for too long".to_owned(),
        _ => {
            let text = error.to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            text[..end].to_owned()
        }
    }
}

impl From<&LeaveReason> for Notice {
    fn from(reason: &LeaveReason) -> Self {
        match reason {
            LeaveReason::Asked => Self::info("You left the meeting.", ""),
            LeaveReason::HostEnded => Self::info(
                "The host ended the meeting.",
                "Its models stay open here; nobody else sees them now.",
            ),
            LeaveReason::Refused(text) => Self::error(
                format!("The host refused: {text}"),
                "Ask the host; a newer version of this program may be needed, or the meeting may be full.",
            ),
            LeaveReason::NotAMeeting => Self::error(
                "What answered there is not a meeting.",
                "Check the address and the port (meetings use 21213).",
            ),
            LeaveReason::HostTooOld(version) => Self::error(
                format!("The host uses version {version}, which is too old."),
                "Ask the host to update; version 12 or newer is needed.",
            ),
            LeaveReason::HostSilent(_) => Self::warning(
                "Nothing is heard from the host any more.",
                "The models stay open here. Join again when the host is back.",
            ),
            LeaveReason::Lost(_) => Self::warning(
                "The connection to the host was lost.",
                "The models stay open here. Join again when the network is back.",
            ),
            LeaveReason::Fault(_) => Self::error(
                "The host sent something that cannot be understood.",
                "The log says what; the host may use an incompatible program.",
            ),
        }
    }
}

/// A number as people read it: 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_is_told_without_numbers_of_the_system() {
        for (error, expected) in [
            (PushError::File(io::Error::from_raw_os_error(2)), "there is no such file"),
            (PushError::Broken(ErrorKind::ConnectionReset.into()), "closed the connection"),
            (PushError::Broken(io::Error::from_raw_os_error(28)), "stopped taking it"),
            (PushError::Net(NetError::BadAddress { address: "1.2".into() }), "21212"),
            (PushError::Changed, "Send it again"),
        ] {
            let text = Notice::from(&error).to_string();
            assert!(text.contains(expected) && !text.contains("os error") && !text.contains(".."), "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (885_832, "885,832"), (1 << 30, "1,073,741,824")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
