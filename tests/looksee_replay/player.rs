//! Playing a recorded stream at its recorded times.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use convene::model::{Cancel, Limits};
use convene::opening::measure;
use convene::session::{Command, Event, Measure, Move};
use convene::wire::coordinates::{position_from_wire, rotation_from_wire};
use convene::wire::message::OpenModel;
use serde_json::Value;

use super::meeting::World;
use super::recording::{Direction, Recording};

/// Something that is to happen.
pub enum Step {
    /// A script says bytes.
    Say(usize, Vec<u8>),
    /// A script closes its side.
    Close(usize),
    /// The person at a node does something.
    Do(usize, Command),
    /// Whatever else.
    Call(Box<dyn FnOnce(&mut World)>),
}

/// Steps by time since the start.
#[derive(Default)]
pub struct Schedule(BTreeMap<Duration, Vec<Step>>);

impl Schedule {
    pub fn at(&mut self, time: Duration, step: Step) {
        self.0.entry(time).or_default().push(step);
    }

    /// What one side of a recording said, and its end if it ended first or at all.
    pub fn play(&mut self, recording: &Recording, direction: Direction, script: usize, offset: Duration) {
        for (time, chunk_direction, range) in &recording.chunks {
            if *chunk_direction == direction {
                let bytes = recording.bytes(direction)[range.clone()].to_vec();
                self.at(offset + *time, Step::Say(script, bytes));
            }
        }
        for (time, end_direction, _) in &recording.ends {
            if *end_direction == direction {
                self.at(offset + *time, Step::Close(script));
            }
        }
    }

    pub fn run(self, world: &mut World) {
        let start = world.now;
        for (time, steps) in self.0 {
            let due = start + time;
            if due > world.now {
                world.run(due - world.now);
            }
            for step in steps {
                match step {
                    Step::Say(script, bytes) => world.say(script, &bytes),
                    Step::Close(script) => world.script_closes(script),
                    Step::Do(node, command) => world.do_command(node, command),
                    Step::Call(call) => call(world),
                }
            }
        }
    }
}

/// A file of the recordings.
pub fn file(folder: &Path, name: &str) -> Bytes {
    std::fs::read(folder.join("glb").join(name)).unwrap_or_else(|e| panic!("{name}: {e}")).into()
}

/// The size of a file, as the program finds it.
pub fn measured(glb: &[u8]) -> Measure {
    let decoded = convene::model::decode(glb, &Limits::default(), &Cancel::default()).expect("a good file");
    measure(&decoded)
}

/// Whether the program can show these bytes.
pub fn can_be_shown(glb: &[u8]) -> bool {
    convene::model::decode(glb, &Limits::default(), &Cancel::default()).is_ok()
}

/// Opens the model of a recorded payload under its id.
pub fn open_recorded(payload: &[u8]) -> (OpenModel, Command) {
    let (json, glb) = super::recording::json_of(payload);
    let open: OpenModel = serde_json::from_str(&json).expect("LookSee's own words");
    let glb = Bytes::copy_from_slice(glb);
    let command = Command::OpenModel {
        model_id: open.model_id.clone(),
        name: open.model_name.clone(),
        content: *blake3::hash(&glb).as_bytes(),
        measure: measured(&glb),
        glb,
        private: false,
        plan: None,
    };
    (open, command)
}

/// Moves a model to where a recorded message has it.
pub fn move_recorded(json: &str) -> Command {
    let json: Value = serde_json::from_str(json).expect("LookSee's own words");
    let to = placement(&json);
    Command::MoveModel { model_id: json["model_id"].as_str().expect("an id").to_owned(), to }
}

/// A recorded position, rotation and scale.
pub fn placement(json: &Value) -> Move {
    let part = |field: &str| serde_json::from_value(json[field].clone());
    Move {
        position: part("position").ok().map(position_from_wire),
        rotation: serde_json::from_value(json["rotation"].clone()).ok().map(rotation_from_wire),
        scale: json["scale"].as_f64().map(|scale| scale as f32).filter(|&scale| scale != 0.0),
    }
}

/// What the program does on its own: look at each model that has come.
pub fn look_at_models(world: &mut World, node: usize) {
    let mut failed = Vec::new();
    for event in &world.nodes[node].events {
        if let Event::ModelReceived { model_id, glb, .. } = event
            && !can_be_shown(glb)
        {
            failed.push(model_id.clone());
        }
    }
    for model_id in failed {
        if world.nodes[node].session.stage().get(&model_id).is_some_and(|m| m.failed.is_none()) {
            let error = "it cannot be read".to_owned();
            world.do_command(node, Command::ModelFailed { model_id, error });
        }
    }
}
