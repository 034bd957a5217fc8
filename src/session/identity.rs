//! Who a participant is, what it speaks, and whether it is still there.

/// A participant as others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// 16 hexadecimal digits; per settings folder.
    pub id: String,
    /// The name that others see.
    pub name: String,
    /// Colour of wands and label, sRGB.
    pub colour: Colour,
}

impl Identity {
    /// The id in poses: the first eight characters of [`Identity::id`].
    pub fn device_id(&self) -> &str {
        device_id_of(&self.id)
    }
}

/// The device id that belongs to a participant id.
pub fn device_id_of(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// An sRGB colour, `#rrggbb` on the wire and in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// Distinct, of similar lightness, readable on dark and on light.
    pub const PALETTE: [Self; 8] = [
        Self([0x4e, 0xa1, 0xff]),
        Self([0xff, 0x8c, 0x42]),
        Self([0x52, 0xc4, 0x6b]),
        Self([0xe0, 0x6c, 0xd6]),
        Self([0xf2, 0xc1, 0x4e]),
        Self([0x3f, 0xc9, 0xc4]),
        Self([0xff, 0x6b, 0x6b]),
        Self([0x9b, 0x8c, 0xff]),
    ];

    /// The colour of somebody who announced none: always the same for an id.
    pub fn for_id(id: &str) -> Self {
        let sum = id.bytes().fold(7u32, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()));
        Self::PALETTE[sum as usize % Self::PALETTE.len()]
    }

    /// Reads `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits =
            text.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, r, g, b] = number.to_be_bytes();
        Some(Self([r, g, b]))
    }
}

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// Which program a participant uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// LookSee, or anything that announces no extension.
    LookSee,
    /// Convene, or anything that speaks its extension.
    Convene,
}

impl Client {
    /// The word on the wire and in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LookSee => "looksee",
            Self::Convene => "convene",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Self {
        if text == "convene" { Self::Convene } else { Self::LookSee }
    }
}

/// Whether a participant is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Heard from within two seconds.
    Live,
    /// Silent for two seconds (LookSee: no pose for three): shown grey (hidden).
    Stale,
    /// Silent for ten seconds, or said so: hidden, its seat kept.
    Away,
}

impl Presence {
    /// The word on the wire and in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Stale => "stale",
            Self::Away => "away",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Self {
        match text {
            "away" => Self::Away,
            "stale" => Self::Stale,
            _ => Self::Live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_read_back() {
        for colour in Colour::PALETTE {
            assert_eq!(Colour::parse(&colour.to_string()), Some(colour));
        }
        for bad in ["", "#12345", "#1234567", "123456", "#12345g", "#ééé"] {
            assert_eq!(Colour::parse(bad), None, "{bad}");
        }
    }
}
