//! Modes 1 and 2: triangles by edges and vertices met shortly before, and plain sequences.

use super::{Cursor, Damage, ENDS_EARLY, GOES_ON};

const UNWRITTEN: Damage = "its compressed triangles refer to what was not there yet";

/// The last sixteen of something, the newest first.
struct Recent<T> {
    items: [T; 16],
    pushed: usize,
}

impl<T: Copy + Default> Recent<T> {
    fn new() -> Self {
        Self { items: [T::default(); 16], pushed: 0 }
    }

    fn push(&mut self, item: T) {
        if let Some(place) = self.items.get_mut(self.pushed % 16) {
            *place = item;
        }
        self.pushed += 1;
    }

    fn get(&self, age: u8) -> Result<T, Damage> {
        let place = self.pushed.checked_sub(1 + usize::from(age)).ok_or(UNWRITTEN)?;
        self.items.get(place % 16).copied().ok_or(UNWRITTEN)
    }
}

/// State of the decoder of triangles.
struct Triangles<'a> {
    data: Cursor<'a>,
    edges: Recent<(u32, u32)>,
    vertices: Recent<u32>,
    next: u32,
    last: u32,
}

impl Triangles<'_> {
    fn next(&mut self) -> u32 {
        let next = self.next;
        self.next = next.wrapping_add(1);
        next
    }

    /// An index as the difference to the last one stored so.
    fn explicit(&mut self) -> Result<u32, Damage> {
        let value = self.data.varint()?;
        self.last = self.last.wrapping_add((value >> 1) ^ (value & 1).wrapping_neg());
        Ok(self.last)
    }

    /// A corner by a half byte, and whether it is new.
    fn corner(&mut self, code: u8) -> Result<(u32, bool), Damage> {
        Ok(match code {
            0 => (self.next(), true),
            15 => (self.explicit()?, true),
            _ => (self.vertices.get(code - 1)?, false),
        })
    }

    fn triangle(&mut self, code: u8, table: &[u8]) -> Result<[u32; 3], Damage> {
        let (edge, vertex) = (code >> 4, code & 15);
        if edge < 15 {
            let (a, b) = self.edges.get(edge)?;
            let (c, new) = match vertex {
                0 => (self.next(), true),
                13 | 14 => {
                    self.last =
                        if vertex == 13 { self.last.wrapping_sub(1) } else { self.last.wrapping_add(1) };
                    (self.last, true)
                }
                15 => (self.explicit()?, true),
                _ => (self.vertices.get(vertex)?, false),
            };
            self.edges.push((c, b));
            self.edges.push((a, c));
            if new {
                self.vertices.push(c);
            }
            return Ok([a, b, c]);
        }
        let (a, corners) = match vertex {
            14 | 15 => {
                let corners = self.data.byte()?;
                if corners == 0 {
                    self.next = 0;
                }
                (if vertex == 14 { self.next() } else { self.explicit()? }, corners)
            }
            _ => (self.next(), table.get(usize::from(vertex)).copied().unwrap_or(0)),
        };
        let (b, b_is_new) = self.corner(corners >> 4)?;
        let (c, c_is_new) = self.corner(corners & 15)?;
        self.edges.push((b, a));
        self.edges.push((c, b));
        self.edges.push((a, c));
        self.vertices.push(a);
        if b_is_new {
            self.vertices.push(b);
        }
        if c_is_new {
            self.vertices.push(c);
        }
        Ok([a, b, c])
    }
}

pub(super) fn triangles(data: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, Damage> {
    if !count.is_multiple_of(3) {
        return Err("its compressed triangles are not whole");
    }
    let data = data.strip_prefix(&[0xe1]).ok_or("its compressed triangles have an unknown header")?;
    let (body, table) = data.split_at_checked(data.len().wrapping_sub(16)).ok_or(ENDS_EARLY)?;
    let (codes, rest) = body.split_at_checked(count / 3).ok_or(ENDS_EARLY)?;
    let mut state =
        Triangles { data: Cursor(rest), edges: Recent::new(), vertices: Recent::new(), next: 0, last: 0 };
    let mut bytes = Vec::with_capacity(count * stride);
    for &code in codes {
        for index in state.triangle(code, table)? {
            bytes.extend_from_slice(index.to_le_bytes().get(..stride).unwrap_or_default());
        }
    }
    if state.data.0.is_empty() { Ok(bytes) } else { Err(GOES_ON) }
}

pub(super) fn sequence(data: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, Damage> {
    let data = data.strip_prefix(&[0xd1]).ok_or("its compressed indices have an unknown header")?;
    let (body, _) = data.split_at_checked(data.len().wrapping_sub(4)).ok_or(ENDS_EARLY)?;
    // Each takes a byte at least: nothing is allocated for what cannot be there.
    if count > body.len() {
        return Err(ENDS_EARLY);
    }
    let mut cursor = Cursor(body);
    let mut last = [0u32; 2];
    let mut bytes = Vec::with_capacity(count * stride);
    for _ in 0..count {
        let value = cursor.varint()?;
        let [even, odd] = &mut last;
        let last = if value & 1 == 0 { even } else { odd };
        *last = last.wrapping_add((value >> 2) ^ (value >> 1 & 1).wrapping_neg());
        bytes.extend_from_slice(last.to_le_bytes().get(..stride).unwrap_or_default());
    }
    if cursor.0.is_empty() { Ok(bytes) } else { Err(GOES_ON) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: Vec<u8>) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
    }

    #[test]
    fn triangles_of_each_kind() {
        // New vertices 0 1 2; edge (0, 2) and a new one; the edge of it and the vertex before it; one by number.
        let mut stream = vec![0xe1, 0xf0, 0x00, 0x0f, 0xff];
        stream.extend([(9 << 1), 0xff, (1 << 1) | 1, 1 << 1, 3 << 1]);
        stream.extend([0; 16]);
        let indices = words(triangles(&stream, 12, 4).unwrap());
        assert_eq!(indices, [0, 1, 2, 0, 2, 3, 0, 3, 9, 7, 8, 11]);
    }

    #[test]
    fn sequences_have_two_baselines() {
        let stream = [0xd1, 0b100, 0b101, 0b110, 0b1001, 0, 0, 0, 0];
        assert_eq!(words(sequence(&stream, 4, 4).unwrap()), [1, 1, 0u32.wrapping_sub(1), 3]);
        assert_eq!(sequence(&stream, 5, 4), Err(ENDS_EARLY));
        assert_eq!(sequence(&stream, 3, 4), Err(GOES_ON));
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        let mut stream = vec![0xe1, 0x00];
        stream.extend([0; 16]);
        assert_eq!(triangles(&stream, 3, 2), Err(UNWRITTEN));
        assert_eq!(triangles(&stream, 300, 2), Err(ENDS_EARLY));
        assert_eq!(triangles(&[0xe1], 0, 2), Err(ENDS_EARLY));
    }
}
