#!/usr/bin/env python3
"""Writes a GLB of a molecule as balls and sticks, from a PDB file. Needs nothing but Python.

    assets/make_molecule.py assets/sources/adenylate-kinase-1-25.pdb assets/models/molecule.glb

One node with one mesh per residue, in angstroms. Every ball is written out, as most molecular programs export them.
"""

import json
import math
import struct
import sys

BALL_RADIUS, STICK_RADIUS, STICK_SIDES = 0.4, 0.15, 8
# A stick joins atoms nearer than this: longer than any single bond between C, N, O and S, save one of S.
BOND_LENGTH, BOND_LENGTH_SULFUR = 1.65, 1.95
# sRGB, as chemists colour the elements.
COLOURS = {"C": (144, 144, 144), "N": (48, 80, 248), "O": (255, 13, 13), "S": (255, 255, 48)}


def add(a, b):
    return tuple(x + y for x, y in zip(a, b))


def scale(a, k):
    return tuple(x * k for x in a)


def unit(a):
    return scale(a, 1 / math.hypot(*a))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def linear(rgb):
    """COLOR_0 of glTF is linear."""
    unit_range = (c / 255 for c in rgb)
    return tuple(round(255 * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)) for c in unit_range)


def icosphere():
    """An icosahedron with each face in four: 42 vertices, 80 triangles."""
    golden = (1 + 5**0.5) / 2
    corners = []
    for a in (-1, 1):
        for b in (-golden, golden):
            corners += [(0, a, b), (a, b, 0), (b, 0, a)]
    points = [unit(p) for p in corners]
    edge = min(math.dist(points[0], p) for p in points[1:]) * 1.01
    near = [{j for j, q in enumerate(points) if j != i and math.dist(p, q) < edge} for i, p in enumerate(points)]
    faces = [(i, j, k) for i in range(12) for j in near[i] if j > i for k in near[i] & near[j] if k > j]
    middles, triangles = {}, []

    def middle(i, j):
        key = min(i, j), max(i, j)
        if key not in middles:
            middles[key] = len(points)
            points.append(unit(add(points[i], points[j])))
        return middles[key]

    for a, b, c in faces:
        normal = cross(add(points[b], scale(points[a], -1)), add(points[c], scale(points[a], -1)))
        if sum(x * y for x, y in zip(normal, points[a])) < 0:
            b, c = c, b
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        triangles += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    return points, triangles


class Mesh:
    def __init__(self):
        self.positions, self.normals, self.colours, self.triangles = [], [], [], []

    def append(self, positions, normals, colour, triangles):
        first = len(self.positions)
        self.positions += positions
        self.normals += normals
        self.colours += [(*colour, 255)] * len(positions)
        self.triangles += [tuple(first + i for i in t) for t in triangles]

    def ball(self, centre, colour, sphere):
        points, triangles = sphere
        self.append([add(centre, scale(p, BALL_RADIUS)) for p in points], points, colour, triangles)

    def stick(self, start, end, colour):
        along = unit(add(end, scale(start, -1)))
        side = unit(cross(along, (1, 0, 0) if abs(along[0]) < 0.9 else (0, 1, 0)))
        other = cross(along, side)
        turns = [2 * math.pi * i / STICK_SIDES for i in range(STICK_SIDES)]
        ring = [add(scale(side, math.cos(t)), scale(other, math.sin(t))) for t in turns]
        ends = [add(p, scale(r, STICK_RADIUS)) for p in (start, end) for r in ring]
        triangles = []
        for i in range(STICK_SIDES):
            j = (i + 1) % STICK_SIDES
            triangles += [(i, j, i + STICK_SIDES), (j, j + STICK_SIDES, i + STICK_SIDES)]
        self.append(ends, ring + ring, colour, triangles)


def read_pdb(path):
    """(residue, colour, position) per atom, and the elements; the middle of the atoms is at the origin."""
    atoms = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("ATOM"):
                position = tuple(float(line[column : column + 8]) for column in (30, 38, 46))
                atoms.append((line[17:26].strip(), line[76:78].strip(), position))
    centre = scale(tuple(map(sum, zip(*(a[2] for a in atoms)))), -1 / len(atoms))
    return [(residue, element, add(position, centre)) for residue, element, position in atoms]


def meshes(atoms):
    sphere, found = icosphere(), {}
    colours = {element: linear(rgb) for element, rgb in COLOURS.items()}
    for residue, element, position in atoms:
        found.setdefault(residue, Mesh()).ball(position, colours[element], sphere)
    for i, (residue, element, position) in enumerate(atoms):
        for other_residue, other_element, other in atoms[:i]:
            limit = BOND_LENGTH_SULFUR if "S" in (element, other_element) else BOND_LENGTH
            if math.dist(position, other) < limit:
                half = scale(add(position, other), 0.5)  # each half has the colour of its atom
                found[residue].stick(position, half, colours[element])
                found[other_residue].stick(other, half, colours[other_element])
    return found


def write_glb(path, named_meshes, copyright_notice):
    accessors, views, blob, gltf_meshes, nodes = [], [], bytearray(), [], []

    def array(rows, component, code, kind, **more):
        data = struct.pack(f"<{len(rows) * len(rows[0])}{code}", *(x for row in rows for x in row))
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)})
        count = len(rows) * len(rows[0]) if kind == "SCALAR" else len(rows)
        accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": count, "type": kind, **more})
        blob.extend(data + b"\0" * (-len(data) % 4))
        return len(accessors) - 1

    for name, mesh in named_meshes.items():
        # Bounds as the file has them, in single precision.
        positions = [struct.unpack("<3f", struct.pack("<3f", *p)) for p in mesh.positions]
        low, high = ([pick(axis) for axis in zip(*positions)] for pick in (min, max))
        attributes = {
            "POSITION": array(positions, 5126, "f", "VEC3", min=low, max=high),
            "NORMAL": array(mesh.normals, 5126, "f", "VEC3"),
            "COLOR_0": array(mesh.colours, 5121, "B", "VEC4", normalized=True),
        }
        indices = array(mesh.triangles, 5125, "I", "SCALAR")
        nodes.append({"name": name, "mesh": len(gltf_meshes)})
        gltf_meshes.append({"name": name, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]})
    material = {"pbrMetallicRoughness": {"metallicFactor": 0, "roughnessFactor": 0.6}}
    document = {
        "asset": {"version": "2.0", "generator": "Convene make_molecule.py", "copyright": copyright_notice},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": gltf_meshes,
        "materials": [material],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(blob)}],
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    with open(path, "wb") as out:
        out.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(blob)))
        out.write(struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + blob)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = meshes(read_pdb(sys.argv[1]))
    write_glb(sys.argv[2], found, "Coordinates: PDB entry 4AKE, CC0 1.0")
    triangles = sum(len(mesh.triangles) for mesh in found.values())
    print(f"{sys.argv[2]}: {len(found)} meshes, {triangles} triangles")


if __name__ == "__main__":
    main()
