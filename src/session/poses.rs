//! Poses on their way out: ours, and those that a host passes on. Peers that speak
//! the extension get them binary, the others as LookSee's JSON.

use bytes::Bytes;

use super::{PeerId, Session, presence::STALE_AFTER};
use crate::{
    transfer::Lane,
    wire::{
        Message, encode_frame,
        message::{PoseEntry, WandPosition},
    },
};

impl Session {
    /// Our own pose, numbered; taken at `stamp` (monotonic nanoseconds).
    pub(super) fn own_pose(&mut self, stamp: u64) -> PoseEntry {
        self.pose_seq = self.pose_seq.wrapping_add(1);
        let entry = PoseEntry {
            wand: self.body.to_wire(self.config.identity.device_id()),
            seq: self.pose_seq,
            // It wraps after 49 days.
            stamp_ms: (stamp / 1_000_000) as u32,
        };
        self.last_pose = Some(entry.clone());
        entry
    }

    /// Where we are, for somebody who has just come.
    pub(super) fn send_own_pose(&mut self, peer: PeerId) {
        let convene = self.peers.get(&peer).is_some_and(super::Peer::is_convene);
        let message = match self.last_pose.clone() {
            Some(entry) if convene => Message::Poses(vec![entry]),
            _ => Message::WandPosition(self.body.to_wire(self.config.identity.device_id())),
        };
        self.send(peer, &message);
    }

    /// To every accepted connection but one; encoded once for each kind of peer.
    pub(super) fn pass_pose(&mut self, except: Option<PeerId>, entry: &PoseEntry) {
        let lane = Lane::Pose { device_id: entry.wand.device_id.clone() };
        let (convene, looksee) = self.pose_receivers(except);
        if !convene.is_empty() {
            let frame = encode_frame(&Message::Poses(vec![entry.clone()]).encode());
            for peer in convene {
                self.send_bytes(peer, lane.clone(), frame.clone(), Bytes::new());
            }
        }
        if !looksee.is_empty() {
            let mut wand = entry.wand.clone();
            if !self.config.looksee_only {
                wand.seq = Some(entry.seq.into());
                wand.stamp = Some(u64::from(entry.stamp_ms) * 1_000_000);
            }
            let frame = encode_frame(&Message::WandPosition(wand).encode());
            for peer in looksee {
                self.send_bytes(peer, lane.clone(), frame.clone(), Bytes::new());
            }
        }
    }

    /// A LookSee guest's pose goes on to everybody as it came.
    pub(super) fn pass_plain_pose(&mut self, from: PeerId, m: &WandPosition, payload: Bytes) {
        let length = Bytes::copy_from_slice(&(payload.len() as i32).to_le_bytes());
        let lane = Lane::Pose { device_id: m.device_id.clone() };
        let (convene, looksee) = self.pose_receivers(Some(from));
        for peer in convene.into_iter().chain(looksee) {
            self.send_bytes(peer, lane.clone(), length.clone(), payload.clone());
        }
    }

    fn pose_receivers(&self, except: Option<PeerId>) -> (Vec<PeerId>, Vec<PeerId>) {
        let accepted = self.peers.values().filter(|p| p.is_accepted() && Some(p.id) != except);
        let (convene, looksee): (Vec<_>, Vec<_>) = accepted.partition(|p| p.is_convene());
        // A LookSee peer that is silent reads nothing: poses would pile up for it.
        let listens = |p: &&super::Peer| self.now.saturating_sub(p.last_byte) < STALE_AFTER;
        (
            convene.into_iter().map(|p| p.id).collect(),
            looksee.into_iter().filter(listens).map(|p| p.id).collect(),
        )
    }
}
