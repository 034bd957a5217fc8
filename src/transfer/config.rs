//! What the command line says about windows and steps.

use std::str::FromStr;

/// How large the receive window of a bulk channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowMode {
    /// Tuned to the link: see [`super::Tuner`].
    #[default]
    Auto,
    /// Always so many bytes, for each channel.
    Fixed(u64),
    /// No limit: the sender sends as fast as the system takes it.
    Unlimited,
}

impl FromStr for WindowMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Unlimited),
            bytes => {
                let bytes: u64 =
                    bytes.parse().map_err(|_error| "write a number of bytes, auto or none".to_owned())?;
                if (256..=1 << 30).contains(&bytes) {
                    Ok(Self::Fixed(bytes))
                } else {
                    Err("it must lie between 256 and 1073741824".to_owned())
                }
            }
        }
    }
}

/// Settings of the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BulkConfig {
    /// Of what we receive.
    pub window: WindowMode,
    /// Bytes of a model in one frame of what we send; none: automatic.
    pub step: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!("auto".parse(), Ok(WindowMode::Auto));
        assert_eq!("none".parse(), Ok(WindowMode::Unlimited));
        assert_eq!("4096".parse(), Ok(WindowMode::Fixed(4096)));
        for wrong in ["", "0", "255", "-1", "1e9", "4 KiB", "2000000000"] {
            assert!(wrong.parse::<WindowMode>().is_err(), "{wrong}");
        }
    }
}
