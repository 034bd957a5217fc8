//! Triangles: one byte each that says how it hangs together with those before,
//! by queues of the last 16 edges and vertices, and what that cannot say behind.

use super::{Cursor, StreamError};

/// Codec v1.
const HEADER: u8 = 0xe1;
/// Which of the last 16 vertices a third corner may be said by; what is beyond
/// stands for the neighbours of the last one spelt out.
const LAST_FIFO: u32 = 13;
/// Pairs of codes for the second and third corner that are frequent enough to be
/// part of a triangle's byte. They stand at the end of each stream, so any would do.
const PAIRS: [u8; 16] =
    [0x00, 0x76, 0x87, 0x56, 0x67, 0x78, 0xa9, 0x86, 0x65, 0x89, 0x68, 0x98, 0x01, 0x69, 0, 0];
/// Nothing: no index is that large in what is encoded here.
const NONE: u32 = u32::MAX;

/// The last edges and vertices, the newest last.
struct Recent {
    edges: [(u32, u32); 16],
    edge: usize,
    vertices: [u32; 16],
    vertex: usize,
    /// The vertex that comes next if vertices come in the order of their numbers.
    next: u32,
    /// The last one that was spelt out.
    last: u32,
}

impl Recent {
    fn new() -> Self {
        Self { edges: [(NONE, NONE); 16], edge: 0, vertices: [NONE; 16], vertex: 0, next: 0, last: 0 }
    }

    fn push_edge(&mut self, a: u32, b: u32) {
        self.edges[self.edge & 15] = (a, b);
        self.edge = self.edge.wrapping_add(1);
    }

    fn push_vertex(&mut self, vertex: u32) {
        self.vertices[self.vertex & 15] = vertex;
        self.vertex = self.vertex.wrapping_add(1);
    }

    /// The edge pushed so many ago.
    fn edge(&self, age: usize) -> (u32, u32) {
        self.edges[self.edge.wrapping_sub(1 + age) & 15]
    }

    /// The vertex pushed so many ago.
    fn vertex(&self, age: usize) -> u32 {
        self.vertices[self.vertex.wrapping_sub(1 + age) & 15]
    }

    /// The edge pushed so many ago, if that many were.
    fn known_edge(&self, age: usize) -> Result<(u32, u32), StreamError> {
        if age < self.edge { Ok(self.edge(age)) } else { Err(StreamError::Unwritten) }
    }

    /// The vertex pushed so many ago, if that many were.
    fn known_vertex(&self, age: usize) -> Result<u32, StreamError> {
        if age < self.vertex { Ok(self.vertex(age)) } else { Err(StreamError::Unwritten) }
    }

    fn age_of_vertex(&self, vertex: u32) -> Option<u32> {
        (0..16).find(|&age| self.vertex(age as usize) == vertex)
    }

    /// The next vertex in order, or none if this is another.
    fn take_next(&mut self, vertex: u32) -> bool {
        let is_next = vertex == self.next;
        self.next = self.next.wrapping_add(u32::from(is_next));
        is_next
    }
}

/// Encodes triangles. The corners of each may come back turned, their winding kept.
#[must_use]
pub fn encode(triangles: &[[u32; 3]]) -> Vec<u8> {
    let mut codes = Vec::with_capacity(triangles.len() * 3 / 2 + 32);
    codes.push(HEADER);
    let mut data = Vec::with_capacity(triangles.len());
    let mut recent = Recent::new();
    for &[a, b, c] in triangles {
        let shared = (0..15).find_map(|age| {
            let edge = recent.edge(age);
            match () {
                () if edge == (a, b) => Some((age, [a, b, c])),
                () if edge == (b, c) => Some((age, [b, c, a])),
                () if edge == (c, a) => Some((age, [c, a, b])),
                () => None,
            }
        });
        match shared {
            Some((age, triangle)) => codes.push(encode_shared(age, triangle, &mut recent, &mut data)),
            None => {
                let code = encode_apart([a, b, c], &mut recent, &mut data);
                codes.push(code);
            }
        }
    }
    codes.extend_from_slice(&data);
    codes.extend_from_slice(&PAIRS);
    codes
}

/// A triangle whose first edge is one of the last.
fn encode_shared(age: usize, [a, b, c]: [u32; 3], recent: &mut Recent, data: &mut Vec<u8>) -> u8 {
    let code = match recent.age_of_vertex(c) {
        Some(age @ 1..LAST_FIFO) => age,
        _ if recent.take_next(c) => 0,
        _ if c.wrapping_add(1) == recent.last => LAST_FIFO,
        _ if c == recent.last.wrapping_add(1) => LAST_FIFO + 1,
        _ => 15,
    };
    if code == 15 {
        put_index(data, c, recent.last);
    }
    if code >= LAST_FIFO {
        recent.last = c;
    }
    if code == 0 || code >= LAST_FIFO {
        recent.push_vertex(c);
    }
    recent.push_edge(c, b);
    recent.push_edge(a, c);
    // Both are below 16.
    (age as u8) << 4 | code as u8
}

/// A triangle that shares no edge with the last.
fn encode_apart([a, b, c]: [u32; 3], recent: &mut Recent, data: &mut Vec<u8>) -> u8 {
    let [a, b, c] = match recent.next {
        next if next == b => [b, c, a],
        next if next == c => [c, a, b],
        _ => [a, b, c],
    };
    // The order of vertices begins anew.
    let anew = [a, b, c] == [0, 1, 2] && recent.next > 0;
    if anew {
        recent.next = 0;
        recent.vertices = [NONE; 16];
    }
    let (age_b, age_c) = (recent.age_of_vertex(b), recent.age_of_vertex(c));
    let code_a = if recent.take_next(a) { 0 } else { 15 };
    let mut code = |vertex: u32, age: Option<u32>| match age {
        Some(age @ 0..14) => age as u8 + 1,
        _ if recent.take_next(vertex) => 0,
        _ => 15,
    };
    let (code_b, code_c) = (code(b, age_b), code(c, age_c));
    let pair = code_b << 4 | code_c;
    let short = PAIRS[..14].iter().position(|&known| known == pair);
    let code = match short {
        Some(number) if code_a == 0 && !anew => 0xf0 | number as u8,
        _ => {
            data.push(pair);
            0xfe | u8::from(code_a == 15)
        }
    };
    for (vertex, code) in [(a, code_a), (b, code_b), (c, code_c)] {
        if code == 15 {
            put_index(data, vertex, recent.last);
            recent.last = vertex;
        }
        if code == 0 || code == 15 {
            recent.push_vertex(vertex);
        }
    }
    recent.push_edge(b, a);
    recent.push_edge(c, b);
    recent.push_edge(a, c);
    code
}

/// The difference to the last one, in bytes of 7 bits.
fn put_index(data: &mut Vec<u8>, index: u32, last: u32) {
    let delta = index.wrapping_sub(last).cast_signed();
    let mut value = (delta << 1 ^ delta >> 31).cast_unsigned();
    while value > 127 {
        data.push(value as u8 | 128);
        value >>= 7;
    }
    data.push(value as u8);
}

fn take_index(cursor: &mut Cursor<'_>, last: u32) -> Result<u32, StreamError> {
    let value = cursor.varint()?;
    Ok(last.wrapping_add(value >> 1 ^ (value & 1).wrapping_neg()))
}

/// The `count` triangles. Their indices are not checked against anything: a
/// stream can name any.
///
/// # Errors
/// If the stream is none of so many triangles. Allocates 12 bytes for each: the
/// stream has at least one.
pub fn decode(data: &[u8], count: usize) -> Result<Vec<[u32; 3]>, StreamError> {
    let mut cursor = Cursor(data);
    if cursor.byte()? != HEADER {
        return Err(StreamError::OtherCodec);
    }
    let codes = cursor.take(count)?;
    let (rest, pairs) = cursor.0.split_last_chunk::<16>().ok_or(StreamError::EndsEarly)?;
    cursor.0 = rest;
    let mut triangles = Vec::with_capacity(count);
    let mut recent = Recent::new();
    for &code in codes {
        triangles.push(if code < 0xf0 {
            let (a, b) = recent.known_edge(usize::from(code >> 4))?;
            let c = third(u32::from(code & 15), &mut recent, &mut cursor)?;
            recent.push_edge(c, b);
            recent.push_edge(a, c);
            [a, b, c]
        } else {
            apart(code, pairs, &mut recent, &mut cursor)?
        });
    }
    if cursor.0.is_empty() { Ok(triangles) } else { Err(StreamError::GoesOn) }
}

/// The corner that a triangle adds to an edge.
fn third(code: u32, recent: &mut Recent, cursor: &mut Cursor<'_>) -> Result<u32, StreamError> {
    let vertex = match code {
        0 => {
            let next = recent.next;
            recent.next = next.wrapping_add(1);
            next
        }
        1..LAST_FIFO => return recent.known_vertex(code as usize),
        LAST_FIFO => recent.last.wrapping_sub(1),
        14 => recent.last.wrapping_add(1),
        _ => take_index(cursor, recent.last)?,
    };
    if code != 0 {
        recent.last = vertex;
    }
    recent.push_vertex(vertex);
    Ok(vertex)
}

fn apart(
    code: u8,
    pairs: &[u8; 16],
    recent: &mut Recent,
    cursor: &mut Cursor<'_>,
) -> Result<[u32; 3], StreamError> {
    let (code_a, pair) = match code {
        0xfe | 0xff => {
            let pair = cursor.byte()?;
            if pair == 0 {
                recent.next = 0;
            }
            (if code == 0xfe { 0 } else { 15 }, pair)
        }
        _ => (0, pairs[usize::from(code & 15)]),
    };
    let codes = [code_a, pair >> 4, pair & 15];
    // What is named by its age is so as of before this triangle.
    let mut triangle = [0; 3];
    for (vertex, code) in triangle.iter_mut().zip(codes) {
        *vertex = match code {
            0 => {
                let next = recent.next;
                recent.next = next.wrapping_add(1);
                next
            }
            15 => 0,
            age => recent.known_vertex(usize::from(age) - 1)?,
        };
    }
    for (vertex, code) in triangle.iter_mut().zip(codes) {
        if code == 15 {
            *vertex = take_index(cursor, recent.last)?;
            recent.last = *vertex;
        }
    }
    for (&vertex, code) in triangle.iter().zip(codes) {
        if code == 0 || code == 15 {
            recent.push_vertex(vertex);
        }
    }
    let [a, b, c] = triangle;
    recent.push_edge(b, a);
    recent.push_edge(c, b);
    recent.push_edge(a, c);
    Ok(triangle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same triangle, turned so that its least corner comes first.
    fn turned(&[a, b, c]: &[u32; 3]) -> [u32; 3] {
        [a, b, c].min([b, c, a]).min([c, a, b])
    }

    fn check(triangles: &[[u32; 3]]) {
        let stream = encode(triangles);
        let back = decode(&stream, triangles.len()).unwrap();
        assert_eq!(
            back.iter().map(turned).collect::<Vec<_>>(),
            triangles.iter().map(turned).collect::<Vec<_>>()
        );
    }

    #[test]
    fn golden() {
        // A square and a triangle that is far from it.
        let stream = encode(&[[0, 1, 2], [2, 1, 3], [900, 0, 700]]);
        let mut expected = vec![0xe1, 0xf0, 0x10, 0xff];
        expected.extend([0x4f, 0x88, 0x0e, 0x8f, 0x03]);
        expected.extend(PAIRS);
        assert_eq!(stream, expected);
        assert_eq!(decode(&stream, 3), Ok(vec![[0, 1, 2], [2, 1, 3], [900, 0, 700]]));
    }

    #[test]
    fn an_order_that_begins_anew() {
        let strip = |from: u32| (from..from + 20).map(|n| [n, n + 1, n + 2]);
        check(&strip(0).chain(strip(0)).chain([[5, 5, 5], [7, 3, 3]]).collect::<Vec<_>>());
        assert_eq!(decode(&encode(&[]), 0), Ok(vec![]));
    }

    #[test]
    fn a_stream_that_lies_is_refused() {
        let triangles: Vec<_> = (0..500u32).map(|n| [n, n * 7 % 501, n * n % 499]).collect();
        let stream = encode(&triangles);
        assert!(decode(&stream, 400).is_err());
        let mut longer = stream.clone();
        longer.insert(stream.len() - PAIRS.len(), 0);
        assert_eq!(decode(&longer, 500), Err(StreamError::GoesOn));
        assert_eq!(decode(&stream, usize::MAX), Err(StreamError::EndsEarly));
        assert_eq!(decode(&[0xe0], 0), Err(StreamError::OtherCodec));
        for end in 0..stream.len() {
            assert!(decode(&stream[..end], 500).is_err(), "{end}");
        }
    }

    #[test]
    fn triangles_of_each_kind() {
        // New vertices 0 1 2; edge (0, 2) and a new one; the edge of it and the vertex before it; one by number.
        let mut stream = vec![0xe1, 0xf0, 0x00, 0x0f, 0xff];
        stream.extend([(9 << 1), 0xff, (1 << 1) | 1, 1 << 1, 3 << 1]);
        stream.extend([0; 16]);
        assert_eq!(decode(&stream, 4), Ok(vec![[0, 1, 2], [0, 2, 3], [0, 3, 9], [7, 8, 11]]));
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        let mut stream = vec![0xe1, 0x00];
        stream.extend([0; 16]);
        assert_eq!(decode(&stream, 1), Err(StreamError::Unwritten));
        assert_eq!(decode(&stream, 100), Err(StreamError::EndsEarly));
        let endless = [&[0xe1, 0xff, 0xff][..], &[0xff; 40]].concat();
        assert_eq!(decode(&endless, 1), Err(StreamError::Endless));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            list in prop::collection::vec(prop_oneof![0u32..30, 0u32..3000, any::<u32>()], 0..900),
        ) {
            check(list.as_chunks::<3>().0);
        }

        #[test]
        fn anything_is_decoded_or_refused(stream in prop::collection::vec(any::<u8>(), 0..300), count in 0usize..200) {
            let stream = [&[HEADER], &stream[..]].concat();
            if let Ok(triangles) = decode(&stream, count) {
                prop_assert_eq!(triangles.len(), count);
            }
        }
    }
}
