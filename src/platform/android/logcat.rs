//! The log, where `adb logcat -s convene` shows it.

use std::{
    ffi::{CStr, CString},
    io,
};

use android_log_sys::LogPriority;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

const TAG: &CStr = c"convene";

/// Writes lines of `tracing` into Android's log, each with its level.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logcat;

impl<'a> MakeWriter<'a> for Logcat {
    type Writer = Entry;

    fn make_writer(&'a self) -> Entry {
        Entry { priority: LogPriority::INFO, text: Vec::new() }
    }

    fn make_writer_for(&'a self, of: &Metadata<'_>) -> Entry {
        let priority = match *of.level() {
            Level::ERROR => LogPriority::ERROR,
            Level::WARN => LogPriority::WARN,
            Level::INFO => LogPriority::INFO,
            Level::DEBUG => LogPriority::DEBUG,
            Level::TRACE => LogPriority::VERBOSE,
        };
        Entry { priority, text: Vec::new() }
    }
}

/// One entry, written when it is dropped.
pub struct Entry {
    priority: LogPriority,
    text: Vec<u8>,
}

impl io::Write for Entry {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A zero would end the text.
        self.text.extend(bytes.iter().filter(|&&byte| byte != 0));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Ok(text) = CString::new(self.text.trim_ascii_end()) else { return };
        #[expect(unsafe_code, reason = "Android's log is a function of C")]
        // SAFETY: both are texts that end with a zero and live until it returns.
        unsafe {
            android_log_sys::__android_log_write(self.priority as _, TAG.as_ptr(), text.as_ptr());
        }
    }
}
