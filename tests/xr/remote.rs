//! The hands and the head of whoever wears Monado's remote headset.
//!
//! Packets as Monado 25.0.0's remote driver reads them from TCP port 4242: the
//! whole state each time. STAGE is their coordinate system: metres, x right,
//! y up, people look along -z. Where a hand's pose is sent, its controller has
//! grip and aim pose, and its tracked hand the wrist.
#![allow(dead_code, reason = "all that a hand can do, whether a scenario needs it or not")]

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use glam::{Quat, Vec2, Vec3};

const PORT: u16 = 4242;
const MAGIC: &[u8; 8] = b"mndrmt3\0";
const PACKET_BYTES: usize = 376;
/// Half of the angle that an eye sees, to each side, in radians.
const HALF_VIEW: f32 = 0.75;
/// Half of the distance between the eyes.
const HALF_IPD: f32 = 0.0315;

/// Where something is and how it is turned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    pub position: Vec3,
    pub rotation: Quat,
}

impl Pose {
    /// Unturned: looks along -z.
    pub const fn at(x: f32, y: f32, z: f32) -> Self {
        Self { position: Vec3::new(x, y, z), rotation: Quat::IDENTITY }
    }
}

/// What one hand does.
#[derive(Debug, Clone, Copy)]
pub struct Hand {
    pub pose: Pose,
    /// 0 to 1.
    pub trigger: f32,
    /// 0 to 1.
    pub squeeze: f32,
    /// Each -1 to 1: right, forward.
    pub stick: Vec2,
    pub stick_click: bool,
    pub a: bool,
    pub b: bool,
    /// The button that Touch controllers call menu.
    pub system: bool,
    /// There is a controller in it.
    pub controller: bool,
    /// The headset sees its fingers. It may do so around a controller, too.
    pub tracked: bool,
    /// 0 straight, 1 bent: little finger, ring finger, middle finger, index finger, thumb.
    pub curls: [f32; 5],
}

impl Hand {
    const fn new(x: f32) -> Self {
        Self {
            pose: Pose::at(x, 1.3, -0.4),
            trigger: 0.0,
            squeeze: 0.0,
            stick: Vec2::ZERO,
            stick_click: false,
            a: false,
            b: false,
            system: false,
            controller: true,
            tracked: false,
            curls: [0.0; 5],
        }
    }

    /// Puts the controller down: the bare hand is seen.
    pub fn bare(&mut self) {
        (self.controller, self.tracked) = (false, true);
    }

    /// Takes the controller: the hand is not seen.
    pub fn take_controller(&mut self) {
        (self.controller, self.tracked) = (true, false);
    }

    /// Thumb and index finger meet, or part.
    pub fn pinch(&mut self, closed: bool) {
        self.curls[3..].fill(f32::from(u8::from(closed)));
    }
}

/// Values stay until they are changed. [`Self::set`] changes some and sends.
pub struct Remote {
    stream: TcpStream,
    pub head: Pose,
    pub left: Hand,
    pub right: Hand,
}

impl Remote {
    /// Connects and waits until the driver answers.
    ///
    /// # Errors
    /// If it does not listen yet.
    pub fn connect() -> io::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", PORT))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        // It begins with two packets of its own. Whoever leaves before they are
        // written ends it with a broken pipe, so don't just knock.
        stream.read_exact(&mut [0; 2 * PACKET_BYTES])?;
        Ok(Self { stream, head: Pose::at(0.0, 1.6, 0.0), left: Hand::new(-0.2), right: Hand::new(0.2) })
    }

    /// Changes something and lets the headset know.
    pub fn set(&mut self, change: impl FnOnce(&mut Self)) {
        change(self);
        self.send();
    }

    pub fn send(&mut self) {
        let packet = self.packet();
        self.stream.write_all(&packet).expect("the remote headset is gone");
    }

    fn packet(&self) -> Vec<u8> {
        let mut packet = Packet(MAGIC.to_vec());
        for x in [-HALF_IPD, HALF_IPD] {
            packet.floats(&[-HALF_VIEW, HALF_VIEW, HALF_VIEW, -HALF_VIEW]);
            packet.pose(Pose::at(x, 0.0, 0.0));
            packet.flags(&[false; 4]); // padding
        }
        packet.pose(self.head);
        // Whether the views above count, and padding.
        packet.flags(&[true, false, false, false]);
        packet.hand(&self.left);
        packet.hand(&self.right);
        assert_eq!(packet.0.len(), PACKET_BYTES);
        packet.0
    }
}

struct Packet(Vec<u8>);

impl Packet {
    fn floats(&mut self, values: &[f32]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn flags(&mut self, values: &[bool]) {
        self.0.extend(values.iter().map(|&value| u8::from(value)));
    }

    fn pose(&mut self, pose: Pose) {
        self.floats(&pose.rotation.to_array());
        self.floats(&pose.position.to_array());
    }

    fn hand(&mut self, hand: &Hand) {
        self.pose(hand.pose);
        self.floats(&[0.0; 6]); // linear and angular velocity
        self.floats(&hand.curls);
        // Of the squeeze there are value and force; after the stick come the
        // trackpad's force and place.
        self.floats(&[hand.trigger, hand.squeeze, hand.squeeze, hand.stick.x, hand.stick.y, 0.0, 0.0, 0.0]);
        self.flags(&[hand.tracked, hand.controller]);
        // Of each button its click and its touch.
        self.flags(&[hand.system, hand.system, hand.a, hand.a, hand.b, hand.b]);
        self.flags(&[hand.trigger > 0.75, hand.trigger > 0.0, hand.stick_click, hand.stick_click]);
        self.flags(&[false; 4]); // the trackpad's touch, and padding
    }
}
