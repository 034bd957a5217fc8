//! One struct per message, with LookSee's names and its order of fields.
//!
//! Reading is as tolerant as LookSee's own reader: unknown fields are ignored,
//! missing ones are zero or empty, invalid UTF-8 becomes U+FFFD, any form of a
//! JSON number is taken. Writing gives the shortest decimal that reads back as
//! the same `f32`.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

mod offer;

use super::{Limits, WireError, bulk::Cancel, poses};

pub use super::poses::PoseEntry;
pub use offer::{Bounds, Offer, Representation, Seat, Want};

/// A position on the wire: metres, left-handed, y up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vec3Json {
    /// To the right.
    pub x: f32,
    /// Up.
    pub y: f32,
    /// Forward.
    pub z: f32,
}

/// A rotation on the wire: a quaternion in Unity's axes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuatJson {
    /// i
    pub x: f32,
    /// j
    pub y: f32,
    /// k
    pub z: f32,
    /// The real part.
    pub w: f32,
}

/// Type 1. A model was moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelPosition {
    /// Which model.
    pub model_id: String,
    /// World position, in room coordinates; all zeros mean 'unchanged'.
    pub position: Vec3Json,
    /// World rotation, in room coordinates; all zeros mean 'unchanged'.
    pub rotation: QuatJson,
    /// Scale within the scene; zero means 'unchanged'.
    pub scale: f32,
}

/// Type 2. Where a participant's wands and head are, in room coordinates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WandPosition {
    /// Whose; eight characters.
    pub device_id: String,
    /// Centre of the left wand.
    pub left_position: Vec3Json,
    /// Centre of the right wand.
    pub right_position: Vec3Json,
    /// The point between the eyes.
    pub head_position: Vec3Json,
    /// The left wand points along its own +y.
    pub left_rotation: QuatJson,
    /// The right wand points along its own +y.
    pub right_rotation: QuatJson,
    /// The head looks along its own +z.
    pub head_rotation: QuatJson,
    /// Ours: a running number of the sender's poses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Ours: the sender's monotonic clock when it took the pose, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<u64>,
}

/// The JSON part of type 3. A model was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenModel {
    /// Made by whoever opened it; base64 of six random bytes.
    pub model_id: String,
    /// The file name, with `.glb`.
    pub model_name: String,
    /// World position, in room coordinates; all zeros mean 'not given'.
    pub position: Vec3Json,
    /// World rotation, in room coordinates; all zeros mean 'not given'.
    pub rotation: QuatJson,
    /// Scale within the scene; zero means 'not given'.
    pub scale: f32,
    /// Ours: the device id of whoever opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener: Option<String>,
}

/// Type 4. A model was closed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CloseModel {
    /// Which model.
    pub model_id: String,
}

/// Type 5. The first message of each side. Everything after `version` is ours
/// and flat, for readers that know no nesting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Version {
    /// A float printed as text.
    pub version: Option<String>,
    /// The number of the extension that the sender speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ext: Option<u32>,
    /// The participant's own id; its first eight characters are its `device_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name that others see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The colour of wands and label: `#rrggbb`, sRGB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<String>,
    /// Program and version, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The ways of sending a model that the sender can receive, comma-separated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<String>,
    /// What the host gave earlier to reclaim the seat by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<String>,
}

impl Version {
    /// The version as the number that peers compare.
    pub fn number(&self) -> Result<f32, WireError> {
        let text = self.version.as_deref().ok_or(WireError::BadVersion)?;
        let number: f32 = text.trim().parse().map_err(|_error| WireError::BadVersion)?;
        if number.is_finite() { Ok(number) } else { Err(WireError::BadVersion) }
    }

    /// Whether the sender speaks our extension.
    pub fn speaks_extension(&self) -> bool {
        self.ext.is_some_and(|ext| ext >= 1) && self.id.as_deref().is_some_and(is_participant_id)
    }
}

/// A participant's id is 16 hexadecimal digits or more; the first eight are its
/// device id.
pub fn is_participant_id(id: &str) -> bool {
    (16..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Type 6. Something for people to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorText {
    /// The text.
    pub error: String,
}

/// Type 7. A model was shown or hidden.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelShown {
    /// Which model.
    pub model_id: String,
    /// Shown or hidden.
    pub shown: bool,
}

/// Type 8. A participant left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParticipantLeft {
    /// Who.
    pub device_id: String,
}

/// Type 9. The scene, the common parent of all models, was moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScenePosition {
    /// In room coordinates.
    pub position: Vec3Json,
    /// In room coordinates.
    pub rotation: QuatJson,
    /// A LookSee peer takes a missing scale as zero: always send it.
    pub scale: f32,
}

/// Type 10. Whether models keep their places relative to each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeepAligned {
    /// On or off.
    pub keep_aligned: bool,
}

/// Type 0x49, ours: everyone in the meeting, from the host, on every change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Roster {
    /// Counts up; an older one than the last read is ignored.
    pub number: u64,
    /// Everyone, the host first.
    pub participants: Vec<RosterEntry>,
}

/// One participant of a [`Roster`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RosterEntry {
    /// The participant's own id; empty for LookSee.
    pub id: String,
    /// The id in its poses; empty until a LookSee peer sent one.
    pub device_id: String,
    /// The name that others see; empty for LookSee.
    pub name: String,
    /// `#rrggbb`, sRGB; empty for LookSee.
    pub colour: String,
    /// `looksee` or `convene`.
    pub client: String,
    /// `live`, `stale` or `away`.
    pub state: String,
}

/// Type 0x4A, ours: how far a model has come at one receiver. Only the latest of
/// each model and receiver counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelStatus {
    /// Which model.
    pub model_id: String,
    /// Device id of the receiver.
    pub device_id: String,
    /// `waiting`, `receiving`, `loading`, `shown`, `failed` or `cancelled`.
    pub state: String,
    /// Bytes of the opener's file that are there.
    pub received: u64,
    /// Bytes that it has.
    pub total: u64,
}

/// The message types that we know, by their byte on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageType {
    /// 1
    ModelPosition = 1,
    /// 2
    WandPosition = 2,
    /// 3
    OpenModel = 3,
    /// 4
    CloseModel = 4,
    /// 5
    Version = 5,
    /// 6
    Error = 6,
    /// 7
    ModelShown = 7,
    /// 8
    ParticipantLeft = 8,
    /// 9
    ScenePosition = 9,
    /// 10
    KeepAligned = 10,
    /// 0x40, ours: asks for a pong with the same eight bytes.
    Ping = 0x40,
    /// 0x41, ours: answers a ping.
    Pong = 0x41,
    /// 0x42, ours: poses.
    Poses = 0x42,
    /// 0x43, ours: a model is there to be asked for.
    Offer = 0x43,
    /// 0x44, ours: asks for chunks of a model.
    Want = 0x44,
    /// 0x45, ours: bytes of a channel.
    Data = 0x45,
    /// 0x46, ours: how far a channel may go.
    Credit = 0x46,
    /// 0x47, ours: a channel is closed before its end.
    Cancel = 0x47,
    /// 0x48, ours: all that was asked for has been sent.
    Done = 0x48,
    /// 0x49, ours: who is here.
    Roster = 0x49,
    /// 0x4A, ours: how far a model has come at one receiver.
    ModelStatus = 0x4A,
    /// 0x4B, ours: the end of a host's greeting.
    Seat = 0x4B,
}

impl MessageType {
    /// The type with this byte, if we know it.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::ModelPosition,
            2 => Self::WandPosition,
            3 => Self::OpenModel,
            4 => Self::CloseModel,
            5 => Self::Version,
            6 => Self::Error,
            7 => Self::ModelShown,
            8 => Self::ParticipantLeft,
            9 => Self::ScenePosition,
            10 => Self::KeepAligned,
            0x40 => Self::Ping,
            0x41 => Self::Pong,
            0x42 => Self::Poses,
            0x43 => Self::Offer,
            0x44 => Self::Want,
            0x45 => Self::Data,
            0x46 => Self::Credit,
            0x47 => Self::Cancel,
            0x48 => Self::Done,
            0x49 => Self::Roster,
            0x4A => Self::ModelStatus,
            0x4B => Self::Seat,
            _ => return None,
        })
    }

    /// Whether only peers that announced the extension may send it.
    pub fn is_extension(self) -> bool {
        (self as u8) >= 0x40
    }
}

/// A message other than OpenModel, which has bytes behind its JSON and is read
/// as [`super::ModelFrame`], and other than the bytes of transfers, which
/// [`super::bulk`] reads.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each variant is named after its struct or type")]
pub enum Message {
    ModelPosition(ModelPosition),
    WandPosition(WandPosition),
    CloseModel(CloseModel),
    Version(Version),
    Error(ErrorText),
    ModelShown(ModelShown),
    ParticipantLeft(ParticipantLeft),
    ScenePosition(ScenePosition),
    KeepAligned(KeepAligned),
    Ping(u64),
    Pong(u64),
    Poses(Vec<PoseEntry>),
    Offer(Offer),
    Want(Want),
    Cancel(Cancel),
    Roster(Roster),
    ModelStatus(ModelStatus),
    Seat(Seat),
}

impl Message {
    /// The type byte's meaning.
    pub fn message_type(&self) -> MessageType {
        match self {
            Self::ModelPosition(_) => MessageType::ModelPosition,
            Self::WandPosition(_) => MessageType::WandPosition,
            Self::CloseModel(_) => MessageType::CloseModel,
            Self::Version(_) => MessageType::Version,
            Self::Error(_) => MessageType::Error,
            Self::ModelShown(_) => MessageType::ModelShown,
            Self::ParticipantLeft(_) => MessageType::ParticipantLeft,
            Self::ScenePosition(_) => MessageType::ScenePosition,
            Self::KeepAligned(_) => MessageType::KeepAligned,
            Self::Ping(_) => MessageType::Ping,
            Self::Pong(_) => MessageType::Pong,
            Self::Poses(_) => MessageType::Poses,
            Self::Offer(_) => MessageType::Offer,
            Self::Want(_) => MessageType::Want,
            Self::Cancel(_) => MessageType::Cancel,
            Self::Roster(_) => MessageType::Roster,
            Self::ModelStatus(_) => MessageType::ModelStatus,
            Self::Seat(_) => MessageType::Seat,
        }
    }

    /// Reads a payload (type byte first). `None` for a type that we do not know,
    /// which is to be ignored.
    pub fn decode(payload: &[u8], limits: &Limits) -> Result<Option<Self>, WireError> {
        let Some((&type_byte, body)) = payload.split_first() else { return Err(WireError::ZeroLength) };
        let Some(message_type) = MessageType::from_byte(type_byte) else { return Ok(None) };
        let reader = Reader { type_byte, limits };
        let message = match message_type {
            MessageType::OpenModel | MessageType::Data | MessageType::Credit | MessageType::Done => {
                return Ok(None);
            }
            MessageType::ModelPosition => Self::ModelPosition(reader.read(body)?),
            MessageType::WandPosition => Self::WandPosition(reader.read(body)?),
            MessageType::CloseModel => Self::CloseModel(reader.read(body)?),
            MessageType::Version => Self::Version(reader.read(body)?),
            MessageType::Error => Self::Error(reader.read(body)?),
            MessageType::ModelShown => Self::ModelShown(reader.read(body)?),
            MessageType::ParticipantLeft => Self::ParticipantLeft(reader.read(body)?),
            MessageType::ScenePosition => Self::ScenePosition(reader.read(body)?),
            MessageType::KeepAligned => Self::KeepAligned(reader.read(body)?),
            MessageType::Ping => Self::Ping(reader.read_u64(body)?),
            MessageType::Pong => Self::Pong(reader.read_u64(body)?),
            MessageType::Poses => Self::Poses(
                poses::decode_entries(body).ok_or_else(|| reader.bad("its entries do not fit".into()))?,
            ),
            MessageType::Offer => Self::Offer(reader.read(body)?),
            MessageType::Want => Self::Want(reader.read(body)?),
            MessageType::Cancel => {
                Self::Cancel(Cancel::decode(payload).ok_or_else(|| reader.bad("its length is wrong".into()))?)
            }
            MessageType::Roster => Self::Roster(reader.read(body)?),
            MessageType::ModelStatus => Self::ModelStatus(reader.read(body)?),
            MessageType::Seat => Self::Seat(reader.read(body)?),
        };
        message.check(&reader)?;
        Ok(Some(message))
    }

    /// The payload (type byte first), without the frame's length.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = vec![self.message_type() as u8];
        match self {
            Self::ModelPosition(m) => write_json(&mut payload, m),
            Self::WandPosition(m) => write_json(&mut payload, m),
            Self::CloseModel(m) => write_json(&mut payload, m),
            Self::Version(m) => write_json(&mut payload, m),
            Self::Error(m) => write_json(&mut payload, m),
            Self::ModelShown(m) => write_json(&mut payload, m),
            Self::ParticipantLeft(m) => write_json(&mut payload, m),
            Self::ScenePosition(m) => write_json(&mut payload, m),
            Self::KeepAligned(m) => write_json(&mut payload, m),
            Self::Ping(value) | Self::Pong(value) => payload.extend_from_slice(&value.to_le_bytes()),
            Self::Poses(entries) => {
                entries.iter().for_each(|entry| payload.extend_from_slice(&entry.encode()))
            }
            Self::Offer(m) => write_json(&mut payload, m),
            Self::Want(m) => write_json(&mut payload, m),
            Self::Cancel(m) => payload = m.encode(),
            Self::Roster(m) => write_json(&mut payload, m),
            Self::ModelStatus(m) => write_json(&mut payload, m),
            Self::Seat(m) => write_json(&mut payload, m),
        }
        payload
    }

    fn check(&self, reader: &Reader<'_>) -> Result<(), WireError> {
        match self {
            Self::ModelPosition(m) => {
                reader.id(&m.model_id)?;
                reader.finite(&[m.position.x, m.position.y, m.position.z, m.scale])?;
                reader.finite(&m.rotation.parts())
            }
            Self::WandPosition(m) => m.check(reader),
            Self::Poses(entries) => entries.iter().try_for_each(|entry| entry.wand.check(reader)),
            Self::Offer(m) => {
                reader.id(&m.model_id)?;
                reader.name(&m.model_name)?;
                reader.id(m.opener.as_deref().unwrap_or_default())?;
                reader.finite(&[m.position.x, m.position.y, m.position.z, m.scale])?;
                reader.finite(&m.rotation.parts())?;
                let bounds = m.bounds.unwrap_or_default();
                reader.finite(&[bounds.center.x, bounds.center.y, bounds.center.z])?;
                reader.finite(&[bounds.size.x, bounds.size.y, bounds.size.z])?;
                let limit = reader.limits.model_bytes;
                if m.bytes > limit as u64 {
                    let length = usize::try_from(m.bytes).unwrap_or(usize::MAX);
                    return Err(WireError::TooLong { type_byte: reader.type_byte, length, limit });
                }
                Ok(())
            }
            Self::Want(m) => reader.id(&m.model_id),
            Self::ModelStatus(m) => {
                reader.id(&m.model_id).and(reader.id(&m.device_id)).and(reader.id(&m.state))
            }
            Self::Seat(m) => reader.name(&m.token),
            Self::CloseModel(m) => reader.id(&m.model_id),
            Self::ModelShown(m) => reader.id(&m.model_id),
            Self::ParticipantLeft(m) => reader.id(&m.device_id),
            Self::ScenePosition(m) => {
                reader.finite(&[m.position.x, m.position.y, m.position.z, m.scale])?;
                reader.finite(&m.rotation.parts())
            }
            Self::Version(m) => {
                let texts = [&m.name, &m.colour, &m.app, &m.methods, &m.seat];
                texts.into_iter().flatten().try_for_each(|text| reader.name(text))
            }
            Self::Roster(m) => m.participants.iter().try_for_each(|p| {
                reader
                    .id(&p.id)
                    .and(reader.id(&p.device_id))
                    .and(reader.name(&p.name))
                    .and(reader.id(&p.colour))
            }),
            Self::Error(_) | Self::KeepAligned(_) | Self::Ping(_) | Self::Pong(_) | Self::Cancel(_) => Ok(()),
        }
    }
}

impl WandPosition {
    fn check(&self, reader: &Reader<'_>) -> Result<(), WireError> {
        if self.device_id.is_empty() {
            return Err(reader.bad("no device_id".into()));
        }
        reader.id(&self.device_id)?;
        for p in [self.left_position, self.right_position, self.head_position] {
            reader.finite(&[p.x, p.y, p.z])?;
        }
        for q in [self.left_rotation, self.right_rotation, self.head_rotation] {
            reader.finite(&q.parts())?;
        }
        Ok(())
    }
}

impl QuatJson {
    fn parts(self) -> [f32; 4] {
        [self.x, self.y, self.z, self.w]
    }
}

impl OpenModel {
    /// Reads the JSON part of an OpenModel payload.
    pub(super) fn decode(json: &[u8], limits: &Limits) -> Result<Self, WireError> {
        let reader = Reader { type_byte: MessageType::OpenModel as u8, limits };
        let open: Self = reader.read(json)?;
        reader.id(&open.model_id)?;
        reader.name(&open.model_name)?;
        reader.id(open.opener.as_deref().unwrap_or_default())?;
        reader.finite(&[open.position.x, open.position.y, open.position.z, open.scale])?;
        reader.finite(&open.rotation.parts())?;
        Ok(open)
    }

    /// The payload up to where the GLB bytes begin.
    pub fn encode_head(&self) -> Vec<u8> {
        let mut json = Vec::new();
        write_json(&mut json, self);
        let mut head = vec![MessageType::OpenModel as u8];
        // The JSON is a few hundred bytes.
        head.extend_from_slice(&(json.len() as i32).to_le_bytes());
        head.extend_from_slice(&json);
        head
    }
}

fn write_json<T: Serialize>(out: &mut Vec<u8>, value: &T) {
    // Writing plain structs of texts, numbers and booleans to memory cannot fail.
    if let Err(error) = serde_json::to_writer(out, value) {
        tracing::error!("a message could not be written: {error}");
    }
}

struct Reader<'a> {
    type_byte: u8,
    limits: &'a Limits,
}

/// What is wrong with a JSON, without the peer's own words: the log may not hold
/// names.
fn told(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Syntax | Category::Io => "it is no JSON",
        Category::Eof => "it is cut off",
        Category::Data => "a field is of the wrong kind",
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

impl Reader<'_> {
    fn bad(&self, reason: String) -> WireError {
        WireError::BadJson { type_byte: self.type_byte, reason }
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, WireError> {
        let text = String::from_utf8_lossy(body);
        serde_json::from_str(&text).map_err(|error| self.bad(told(&error)))
    }

    fn read_u64(&self, body: &[u8]) -> Result<u64, WireError> {
        let bytes = body.try_into().map_err(|_error| self.bad(format!("{} bytes, not 8", body.len())))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn finite(&self, numbers: &[f32]) -> Result<(), WireError> {
        if numbers.iter().all(|n| n.is_finite()) {
            Ok(())
        } else {
            Err(WireError::NumberOutOfRange { type_byte: self.type_byte })
        }
    }

    fn id(&self, text: &str) -> Result<(), WireError> {
        self.text(text, self.limits.id_bytes)
    }

    fn name(&self, text: &str) -> Result<(), WireError> {
        self.text(text, self.limits.name_bytes)
    }

    fn text(&self, text: &str, limit: usize) -> Result<(), WireError> {
        if text.len() <= limit {
            Ok(())
        } else {
            Err(WireError::TextTooLong { type_byte: self.type_byte, length: text.len(), limit })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(payload: &[u8]) -> Result<Option<Message>, WireError> {
        Message::decode(payload, &Limits::default())
    }

    #[test]
    fn numbers_in_any_form_and_extra_fields() {
        let payload = b"\x01{ \"scale\" : 15e-1, \"position\": {\"x\": 1, \"z\": -3.0e0, \"w\": []},\n \"model_id\": \"a\\/b\\u00e9\", \"more\": {\"deep\": [1]} }";
        let Ok(Some(Message::ModelPosition(m))) = decode(payload) else { panic!("not read") };
        assert_eq!((m.model_id.as_str(), m.scale, m.position.x, m.position.z), ("a/bé", 1.5, 1.0, -3.0));
        assert_eq!(m.rotation, QuatJson::default());
    }

    #[test]
    fn faults_are_told_apart() {
        assert!(matches!(decode(b"\x01"), Err(WireError::BadJson { .. })));
        assert!(matches!(decode(b"\x01{\"model_id\":\"a\""), Err(WireError::BadJson { .. })));
        assert!(matches!(decode(b"\x02{\"left_position\":{}}"), Err(WireError::BadJson { .. })));
        assert!(matches!(decode(b"\x04{\"model_id\":\"a\"}\0"), Err(WireError::BadJson { .. })));
        assert!(matches!(decode(b"\x04\xef\xbb\xbf{\"model_id\":\"a\"}"), Err(WireError::BadJson { .. })));
        assert!(matches!(
            decode(b"\x01{\"model_id\":\"a\",\"scale\":1e60}"),
            Err(WireError::NumberOutOfRange { .. } | WireError::BadJson { .. })
        ));
        let long = format!("\x04{{\"model_id\":\"{}\"}}", "x".repeat(65));
        assert!(matches!(decode(long.as_bytes()), Err(WireError::TextTooLong { length: 65, limit: 64, .. })));
        assert!(matches!(decode(b"\x40123"), Err(WireError::BadJson { .. })));
        let deep = [&b"\x04{\"model_id\":\"a\",\"x\":"[..], &vec![b'['; 60_000]].concat();
        assert!(matches!(decode(&deep), Err(WireError::BadJson { .. })));
    }

    #[test]
    fn unknown_types_are_nothing() {
        assert_eq!(decode(&[77, b'{']), Ok(None));
        assert_eq!(decode(&[0]), Ok(None));
        assert_eq!(decode(&[0x7f, 1, 2, 3]), Ok(None));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let Ok(Some(Message::Error(m))) = decode(b"\x06{\"error\":\"\xff\xfe\"}") else { panic!("not read") };
        assert_eq!(m.error, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn version_numbers() {
        let number = |v: &str| Version { version: Some(v.into()), ..Default::default() }.number();
        assert_eq!(number("17"), Ok(17.0));
        assert_eq!(number(" 17.5 "), Ok(17.5));
        assert_eq!(number("banana"), Err(WireError::BadVersion));
        assert_eq!(number("inf"), Err(WireError::BadVersion));
        assert_eq!(Version::default().number(), Err(WireError::BadVersion));
    }
}
