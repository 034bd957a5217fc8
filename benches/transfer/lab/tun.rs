//! TUN devices: interfaces whose packets a program reads and writes.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
};

use rustix::{
    fs::OFlags,
    ioctl::{self, Opcode, Setter, opcode},
};

const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
/// IP packets without the four bytes that say of which kind.
const IFF_TUN_NO_PI: u16 = 0x0001 | 0x1000;

/// The kernel's `struct ifreq`.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// Creates the interface in the namespace of this process. It can be moved to
/// another, and vanishes with the file. Reading and writing do not block.
pub fn create(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open("/dev/net/tun")?;
    let mut request = InterfaceRequest { name: [0; 16], flags: IFF_TUN_NO_PI, rest: [0; 22] };
    request.name[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
    #[expect(unsafe_code, reason = "no safe way to make a TUN device")]
    // SAFETY: TUNSETIFF reads a struct ifreq, which InterfaceRequest is laid out as, and keeps no pointer.
    unsafe {
        ioctl::ioctl(&file, Setter::<TUNSETIFF, InterfaceRequest>::new(request))?;
    }
    Ok(file)
}
