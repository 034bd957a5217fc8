use super::*;

/// A square of side 1, by hand: what `docs/protocol.md` shows.
fn golden(encoding: Encoding) -> Vec<u8> {
    let mut streams: Vec<Vec<u8>> = match encoding {
        Encoding::Planes => vec![
            // First, second, third corners: their differences, the lowest bytes first.
            [&[0u8, 0][..], &[0; 6], &[2, 2], &[0; 6], &[4, 2], &[0; 6]].concat(),
            // x 0, 65535, 65535, 0 (differences 0, -1, 0, 1), y 0, 0, 65535, 65535, z 0.
            vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
        _ => vec![
            // 'Three new corners', 'on the edge before the last but one, a new corner'.
            [
                &[0xe1u8, 0xf0, 0x00][..],
                &[0x00, 0x76, 0x87, 0x56, 0x67, 0x78, 0xa9, 0x86, 0x65, 0x89, 0x68, 0x98, 0x01, 0x69, 0, 0],
            ]
            .concat(),
            // Of 8 bytes the lower ones of x and y differ by -1 and 1, the upper alike.
            [
                &[0xa0u8][..],
                &[1, 0x12, 0, 0, 0],
                &[1, 0x12, 0, 0, 0],
                &[1, 0x04, 0, 0, 0],
                &[1, 0x04, 0, 0, 0],
                &[0, 0, 0, 0],
                &[0; 32],
            ]
            .concat(),
        ],
    };
    // All normals are the z axis: one plane each, 8 bits.
    streams.push(vec![0; 8]);
    streams.push(Vec::new());
    let mut chunk = vec![encoding.byte(), 8, 0, 0];
    for number in [NO_INDEX, 2, 4, 2] {
        chunk.extend(number.to_le_bytes());
    }
    for float in [0f32, 0.0, 0.0, 1.0 / 65535.0, 1.0 / 65535.0, 1.0 / 65535.0] {
        chunk.extend(float.to_le_bytes());
    }
    for stream in &streams {
        chunk.extend((stream.len() as u32).to_le_bytes());
    }
    // A zstd frame of one block that is stored as it is.
    let all = streams.concat();
    chunk.extend([0x28, 0xb5, 0x2f, 0xfd, 0x20, all.len() as u8]);
    chunk.extend(&((all.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    chunk.extend(all);
    chunk
}

fn square(encoding: Encoding) -> Part {
    let grid = Grid { origin: [0.0; 3], step: [1.0 / 65535.0; 3] };
    Part {
        encoding,
        mesh: None,
        material: Some(2),
        positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
        normals: Some(vec![[0.0, 0.0, 1.0]; 4]),
        colors: None,
        extras: Vec::new(),
        indices: match encoding {
            Encoding::Planes => vec![[0, 1, 2], [0, 2, 3]],
            _ => vec![[0, 1, 2], [0, 2, 3]],
        },
        grid,
        max_error: grid.max_error(),
    }
}

#[test]
fn golden_parts() {
    for encoding in Encoding::ALL {
        assert_eq!(decode(&golden(encoding)), Ok(Decoded::Part(square(encoding))), "{encoding:?}");
    }
}

#[test]
fn what_lies_is_refused() {
    for encoding in Encoding::ALL {
        let good = golden(encoding);
        for end in 0..good.len() {
            assert!(decode(&good[..end]).is_err(), "{encoding:?} {end}");
        }
        let with = |at: usize, number: u32| {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&number.to_le_bytes());
            decode(&bad)
        };
        // More vertices, triangles or bytes than there are, or than anybody may have.
        for (at, number) in [
            (12, 3),
            (12, 5),
            (12, u32::MAX),
            (16, 1),
            (16, 3),
            (16, 1 << 30),
            (44, 1),
            (44, u32::MAX),
            (48, 1),
        ] {
            assert!(with(at, number).is_err(), "{encoding:?} {at} {number}");
        }
        // Grids that are nowhere, or reach beyond all numbers.
        for number in [f32::NAN.to_bits(), f32::INFINITY.to_bits(), (-1f32).to_bits(), f32::MAX.to_bits()] {
            assert!(with(32, number).is_err(), "{encoding:?} {number:x}");
        }
        for (at, byte) in [(0, 9), (1, 7), (2, 5), (3, 200)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert!(decode(&bad).is_err(), "{encoding:?} {at} {byte}");
        }
    }
    assert!(decode(&[]).is_err());
}

#[test]
fn a_bomb_is_not_blown_up() {
    let mut chunk = golden(Encoding::Planes)[..44].to_vec();
    // A million vertices and triangles, all in a few kilobytes.
    chunk[12..16].copy_from_slice(&(MAX_VERTICES as u32).to_le_bytes());
    chunk[16..20].copy_from_slice(&(MAX_TRIANGLES as u32).to_le_bytes());
    let lengths = [12 * MAX_TRIANGLES, 6 * MAX_VERTICES, 2 * MAX_VERTICES, 0];
    lengths.iter().for_each(|length| chunk.extend((*length as u32).to_le_bytes()));
    chunk.extend(squeeze(&vec![0; lengths.iter().sum()], Effort::Little));
    assert!(chunk.len() < 8192, "{}", chunk.len());
    let wrong = decode_announced(&chunk, 1 << 20);
    assert!(wrong.is_err(), "it was said to be smaller");
    // It is what it says, and no more than a chunk may be.
    let Ok(Decoded::Part(part)) = decode(&chunk) else { panic!("it is whole") };
    assert!(part.bytes() <= MAX_DECODED_BYTES);
    // One that says less than it holds is not looked at further.
    chunk[12..16].copy_from_slice(&4u32.to_le_bytes());
    assert!(decode(&chunk).is_err());
}

#[test]
fn heads_and_rests() {
    let json = br#"{"asset":{"version":"2.0"}}"#;
    let mut head = vec![HEAD, 0, 0, 0];
    for number in [json.len() as u32, 5, 7] {
        head.extend(number.to_le_bytes());
    }
    head.extend(squeeze(json, Effort::Little));
    let expected = Head { json: json.to_vec(), rest_bytes: 5, parts: 7 };
    assert_eq!(decode(&head), Ok(Decoded::Head(expected)));
    let rest = |packed: u8, length: u32, bytes: &[u8]| {
        decode(&[&[REST, packed, 0, 0], &length.to_le_bytes()[..], bytes].concat())
    };
    assert_eq!(rest(0, 3, b"abc"), Ok(Decoded::Rest(b"abc".to_vec())));
    assert_eq!(rest(1, 3, &squeeze(b"abc", Effort::Little)), Ok(Decoded::Rest(b"abc".to_vec())));
    assert!(rest(0, 4, b"abc").is_err() && rest(1, 2, &squeeze(b"abc", Effort::Little)).is_err());
    assert!(rest(2, 3, b"abc").is_err() && rest(0, u32::MAX, b"abc").is_err());
}

/// The bytes that `docs/protocol.md` shows are these.
#[test]
fn the_documentation_shows_the_golden_part() {
    let text = include_str!("../../../docs/protocol.md");
    let golden = golden(Encoding::Fast);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    for shown in
        [&golden[..4], &golden[44..48], &golden[48..52], &golden[60..66], &golden[66..69], &golden[69..72]]
    {
        assert!(text.contains(&hex(shown)), "{}", hex(shown));
    }
    assert_eq!(hex(&golden[32..36]), "80 00 80 37");
}
