//! Somebody else in the meeting: a participant without a window, who does what
//! the walk needs.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use convene::{
    model::{Cancel, Limits},
    net::{Net, NetCommand, NetConfig, NetEvent},
    opening,
    session::{Body, Colour, Command, Config, Event, Identity, SessionView},
};

/// Grace; a long name on purpose.
pub const NAME: &str = "Grace Brewster Murray Hopper, Arlington";

pub struct Grace {
    net: Net,
    port: Option<u16>,
    /// Whether she looks at models as soon as they come.
    pub loads: bool,
}

impl Grace {
    pub fn new() -> Self {
        let identity = Identity { id: "c".repeat(16), name: NAME.to_owned(), colour: Colour::PALETTE[3] };
        // So slow that what she sends can be seen on its way.
        let config = NetConfig { pace_megabits: Some(0.15), ..NetConfig::new(Config::new(identity)) };
        Self { net: Net::start(config).unwrap(), port: None, loads: true }
    }

    pub fn hosts(&mut self) -> String {
        self.net.send(NetCommand::Host { bind: Some([127, 0, 0, 1].into()), port: 0 }).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while self.port.is_none() {
            assert!(Instant::now() < until, "she cannot host");
            self.live();
            std::thread::sleep(Duration::from_millis(2));
        }
        format!("127.0.0.1:{}", self.port.unwrap())
    }

    pub fn joins(&mut self, address: &str) {
        self.net.send(NetCommand::Join { address: address.to_owned() }).unwrap();
    }

    pub fn leaves(&self) {
        self.command(Command::Leave);
    }

    pub fn opens(&self, path: &Path) {
        let opened = opening::open_file(path, &Limits::default(), &Cancel::default()).unwrap();
        self.command(opened.command());
    }

    pub fn closes_all(&self) {
        for model in &self.view().models {
            self.command(Command::CloseModel { model_id: model.id.clone() });
        }
    }

    fn command(&self, command: Command) {
        self.net.send(NetCommand::Session { seq: 0, command }).unwrap();
    }

    /// Takes what has come; to be called now and then.
    pub fn live(&mut self) {
        for event in self.net.events().try_iter() {
            match event {
                NetEvent::Listening { port, .. } => self.port = Some(port),
                NetEvent::Session(Event::ModelReceived { model_id, .. }) if self.loads => {
                    let command = Command::ModelLoaded { model_id };
                    self.net.send(NetCommand::Session { seq: 0, command }).unwrap();
                }
                _ => {}
            }
        }
    }

    /// She is somewhere now, and others see where.
    pub fn stands(&self, body: Body) {
        self.net.set_body(body, 0);
    }

    pub fn view(&self) -> Arc<SessionView> {
        self.net.view()
    }
}
