//! What is undone after decoding elements: directions, rotations, floats and colours.

use super::Damage;

pub(super) fn apply(filter: &str, stride: usize, bytes: &mut [u8]) -> Result<(), Damage> {
    match (filter, stride) {
        ("NONE", _) => {}
        ("OCTAHEDRAL", 4) => {
            let (elements, _) = bytes.as_chunks_mut::<4>();
            for element in elements {
                let [x, y, z, w] = element.map(u8::cast_signed);
                let [x, y, z] = octahedral([x, y, z].map(f32::from), 127.0).map(|v| v as i8);
                *element = [x, y, z, w].map(i8::cast_unsigned);
            }
        }
        ("OCTAHEDRAL", 8) => words(bytes, |[x, y, z, w]| {
            let [x, y, z] = octahedral([x, y, z].map(f32::from), 32767.0).map(|v| v as i16);
            [x, y, z, w]
        }),
        ("QUATERNION", 8) => words(bytes, quaternion),
        ("EXPONENTIAL", _) => {
            let (elements, _) = bytes.as_chunks_mut::<4>();
            for element in elements {
                *element = exponential(i32::from_le_bytes(*element)).to_le_bytes();
            }
        }
        ("COLOR", 4) => {
            let (elements, _) = bytes.as_chunks_mut::<4>();
            for element in elements {
                let [y, co, cg, a] = *element;
                let input =
                    [i32::from(y), i32::from(co.cast_signed()), i32::from(cg.cast_signed()), i32::from(a)];
                *element = color(input, 255.0).map(|v| v as u8);
            }
        }
        ("COLOR", 8) => words(bytes, |[y, co, cg, a]| {
            let input =
                [i32::from(y.cast_unsigned()), i32::from(co), i32::from(cg), i32::from(a.cast_unsigned())];
            color(input, 65535.0).map(|v| (v as u16).cast_signed())
        }),
        ("OCTAHEDRAL" | "QUATERNION" | "COLOR", _) => {
            return Err("its filter does not fit its elements' size");
        }
        _ => return Err("its filter is unknown"),
    }
    Ok(())
}

fn words(bytes: &mut [u8], filter: impl Fn([i16; 4]) -> [i16; 4]) {
    let (words, _) = bytes.as_chunks_mut::<2>();
    let (elements, _) = words.as_chunks_mut::<4>();
    for element in elements {
        *element = filter(element.map(i16::from_le_bytes)).map(i16::to_le_bytes);
    }
}

/// A unit vector out of two coordinates on an unfolded octahedron; `one` says how many bits they have.
fn octahedral([x, y, one]: [f32; 3], max: f32) -> [f32; 3] {
    let (x, y) = (x / one, y / one);
    let z = 1.0 - x.abs() - y.abs();
    let below = z.min(0.0);
    let (x, y) = (x - below.copysign(x), y - below.copysign(y));
    // Numbers out of range give no direction; casting makes zeros of them.
    let scale = max / (x * x + y * y + z * z).sqrt();
    [x, y, z].map(|v| (v * scale).round())
}

fn quaternion(input: [i16; 4]) -> [i16; 4] {
    let [x, y, z, last] = input;
    let scale = std::f32::consts::FRAC_1_SQRT_2 / f32::from(last | 3);
    let [x, y, z] = [x, y, z].map(|v| f32::from(v) * scale);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let [x, y, z, w] = [x, y, z, w].map(|v| (v * 32767.0).round() as i16);
    match last & 3 {
        0 => [w, x, y, z],
        1 => [z, w, x, y],
        2 => [y, z, w, x],
        _ => [x, y, z, w],
    }
}

/// `2^e * m`, with the exponent in the highest byte.
fn exponential(input: i32) -> f32 {
    let (exponent, mantissa) = (input >> 24, (input << 8) >> 8);
    (f64::from(mantissa) * f64::from(exponent).exp2()) as f32
}

/// From luma and chroma; the highest bit of the alpha says how many bits all have.
fn color([y, co, cg, a]: [i32; 4], max: f32) -> [f32; 4] {
    let bits = 32 - a.leading_zeros().min(31);
    let most = (1i32 << bits) - 1;
    let alpha = a & (most >> 1);
    let scale = max / most as f32;
    [y + co - cg, y + cg, y - co - cg, (alpha << 1) | (alpha & 1)].map(|v| (v as f32 * scale).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(filter: &str, stride: usize, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        apply(filter, stride, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn directions() {
        assert_eq!(filtered("OCTAHEDRAL", 4, &[0, 0, 127, 9]), [0, 0, 127, 9]);
        assert_eq!(filtered("OCTAHEDRAL", 4, &[127, 127, 127, 0]), [0, 0, 129, 0]);
        let wide: Vec<u8> = [511i16, 0, 511, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
        let expected: Vec<u8> = [32767i16, 0, 0, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(filtered("OCTAHEDRAL", 8, &wide), expected);
        // No bits at all: nonsense in, some bytes out.
        assert_eq!(filtered("OCTAHEDRAL", 4, &[0; 4]).len(), 4);
    }

    #[test]
    fn rotations() {
        assert_eq!(quaternion([0, 0, 0, 32767]), [0, 0, 0, 32767]);
        assert_eq!(quaternion([0, 0, 0, 32764]), [32767, 0, 0, 0]);
        let [x, y, z, w] = quaternion([32767, 0, 0, 32767]);
        assert!((x - 23170).abs() <= 1 && (w - 23170).abs() <= 1 && y == 0 && z == 0, "{x} {y} {z} {w}");
    }

    #[test]
    fn floats_and_colours() {
        assert_eq!(exponential((-2 << 24) | 3), 0.75);
        assert_eq!(exponential((1 << 24) | 0xff_ffff), -2.0);
        // Eight bits: white, opaque; alpha has its highest bit set.
        assert_eq!(filtered("COLOR", 4, &[255, 0, 0, 255]), [255; 4]);
        assert_eq!(color([255, 0, 0, 128], 255.0), [255.0, 255.0, 255.0, 0.0]);
        assert!(apply("COLOR", 12, &mut []).is_err() && apply("X", 4, &mut []).is_err());
    }
}
