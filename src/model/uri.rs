//! URIs in a glTF file: embedded data, and names of side files.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding and the last bits are not what a model should fail on.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a URI refers to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Uri<'a> {
    /// Embedded: the part after `data:`.
    Data(&'a str),
    /// Another scheme, such as `http`.
    Scheme(&'a str),
    /// A file beside the model; still percent-encoded.
    File(&'a str),
}

impl<'a> Uri<'a> {
    pub(super) fn parse(uri: &'a str) -> Self {
        match uri.split_once(':') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("data") => Self::Data(rest),
            Some((scheme, _)) if is_scheme(scheme) => Self::Scheme(scheme),
            _ => Self::File(uri),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// The bytes of a data URI, given the part after `data:`. Never longer than it.
pub(super) fn decode_data(rest: &str) -> Result<Vec<u8>, String> {
    let (head, payload) = rest.split_once(',').ok_or("its data URI has no comma")?;
    if !head.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64")) {
        return Ok(percent_decode(payload));
    }
    let decode = |payload: &[u8]| LENIENT.decode(payload);
    let bytes = match decode(payload.as_bytes()) {
        // Line breaks and percent signs are rare: only looked for if needed.
        Err(_) => {
            let cleaned: Vec<u8> =
                percent_decode(payload).into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
            decode(&cleaned)
        }
        decoded => decoded,
    };
    bytes.map_err(|error| format!("its data URI is not base64: {error}"))
}

/// Replaces `%41` by `A`; what is not such a sequence stays as it is.
pub(super) fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, ahead.next().and_then(hex_digit), ahead.next().and_then(hex_digit)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high << 4 | low);
                bytes = ahead;
            }
            _ => decoded.push(byte),
        }
    }
    decoded
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_uri() {
        assert_eq!(Uri::parse("data:,x"), Uri::Data(",x"));
        assert_eq!(Uri::parse("http://x/y"), Uri::Scheme("http"));
        assert_eq!(Uri::parse("C:\\x"), Uri::Scheme("C"));
        assert_eq!(Uri::parse("a b#+%41.bin"), Uri::File("a b#+%41.bin"));
    }

    #[test]
    fn data_is_decoded_leniently() {
        for uri in [
            "application/octet-stream;base64,AAEC/w==",
            ";base64,AAEC/w",
            ";base64,AAEC\n/w==",
            ",%00%01%02%ff",
        ] {
            let rest = if uri.starts_with(',') { uri.to_owned() } else { uri.replace("\\n", "\n") };
            assert_eq!(decode_data(&rest).unwrap(), [0, 1, 2, 255], "{uri}");
        }
        assert!(decode_data("base64").is_err());
        assert!(decode_data(";base64,=#$").is_err());
    }

    #[test]
    fn percent_signs_that_mean_nothing_stay() {
        assert_eq!(percent_decode("100%+%2g%4"), b"100%+%2g%4");
        assert_eq!(percent_decode("%e2%9d%a4"), "❤".as_bytes());
    }
}
