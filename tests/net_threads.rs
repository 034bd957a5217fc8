//! No thread of the network stays behind, whatever it was doing; nobody who
//! asks something of it ever waits.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[path = "common/nets.rs"]
mod nets;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use convene::{
    net::{Net, NetCommand, NetEvent},
    session::{Body, Event},
    threads,
    wire::{Frame, file_push},
};
use nets::{here, host, net, open, wait_for};
use process::{HERE, thread, wait_until};
use raw::{RawPeer, convene_version, frame, looksee_version, open_model, pose};

/// The list of threads is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Drops it and looks at the clock and at the list of threads.
fn drop_joins(state: &str, net: Net) {
    assert!(threads::names().iter().any(|name| name == "meeting"), "{state}: {:?}", threads::names());
    let start = Instant::now();
    drop(net);
    let time = start.elapsed();
    println!("{state}: {:.0} ms", time.as_secs_f64() * 1e3);
    // One second is the aim, most of it for a last flush; a busy machine gets more.
    assert!(time < Duration::from_secs(3), "{state}: {time:?}");
    // The system's lookup of a name cannot be interrupted: nobody waits for it.
    let left: Vec<String> = threads::names().into_iter().filter(|name| name != "resolve").collect();
    assert!(left.is_empty(), "{state}: {left:?}");
}

#[test]
fn every_thread_ends_in_every_state() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    drop_joins("idle", net(None));
    drop_joins("hosting", host(None).0);

    let (net_, port) = host(None);
    let mut silent = RawPeer::connect(port);
    silent.wait_for_type(5);
    let _joined = RawPeer::join(port, &looksee_version("17"));
    let _ours = RawPeer::join(port, &convene_version("1111222233334444"));
    drop_joins("hosting, guests in handshake and joined", net_);

    let (net_, port) = host(None);
    let reader = RawPeer::join(port, &looksee_version("17"));
    open(&net_, "big", 64 << 20);
    drop_joins("hosting, a guest that does not read amid a model", net_);
    drop(reader);

    let (net_, port) = host(None);
    let mut sender = RawPeer::join(port, &looksee_version("17"));
    sender.bytes(&open_model("half", "half.glb", &vec![1; 8 << 20])[..4 << 20]);
    wait_for(&net_, "offer", |e| matches!(e, NetEvent::Session(Event::ModelOffered { .. })).then_some(()));
    drop_joins("hosting, amid a guest's model", net_);

    // The driver has more to do than it can: accepting and reading wait for it.
    let (net_, port) = host(None);
    let busy: Vec<_> = (0..8u32)
        .map(|n| {
            let mut peer = RawPeer::join(port, &looksee_version("17"));
            let pose = convene::wire::encode_frame(&pose(&format!("{n:08}"), 0.0).encode()).repeat(200);
            thread(move || while peer.try_bytes(&pose) {})
        })
        .collect();
    let knocking = thread(move || while TcpStream::connect((HERE, port)).is_ok() {});
    wait_for(&net_, "guests", |e| {
        matches!(e, NetEvent::Session(Event::ParticipantJoined { .. })).then_some(())
    });
    std::thread::sleep(Duration::from_millis(200));
    drop_joins("hosting, in a flood", net_);
    busy.into_iter().chain([knocking]).for_each(|t| t.join().unwrap());

    connecting();

    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let join = |address: String| {
        let net = net(None);
        net.send(NetCommand::Join { address }).unwrap();
        net
    };
    let net_ = join(address.to_string());
    let _silent = listener.accept().unwrap();
    wait_until("a greeting to a silent host", || threads::names().iter().any(|n| n.ends_with("-read")));
    drop_joins("joining a silent host", net_);

    let net_ = join(address.to_string());
    let mut host_ = RawPeer::on(listener.accept().unwrap().0);
    host_.greet(&looksee_version("17"));
    host_.bytes(&frame(10, b"{\"keep_aligned\":false}"));
    host_.bytes(&open_model("half", "half.glb", &vec![1; 8 << 20])[..4 << 20]);
    wait_for(&net_, "offer", |e| matches!(e, NetEvent::Session(Event::ModelOffered { .. })).then_some(()));
    drop_joins("joined, amid a model", net_);

    // Where no name server is, the answer comes within a millisecond.
    for pause in 0..5 {
        let net_ = join("no-such-host.invalid".into());
        std::thread::sleep(Duration::from_micros(200 * pause));
        drop_joins("looking up a name", net_);
    }

    let folder = tempfile::tempdir().unwrap();
    let net_ = net(None);
    let folder_path = folder.path().to_owned();
    net_.send(NetCommand::ReceiveFiles { bind: here(), port: 0, folder: folder_path }).unwrap();
    let port = wait_for(&net_, "port", |e| match e {
        NetEvent::ReceivingFiles { port } => Some(port),
        _ => None,
    });
    let _silent = TcpStream::connect((HERE, port)).unwrap();
    let mut half = TcpStream::connect((HERE, port)).unwrap();
    std::io::Write::write_all(&mut half, &file_push::encode_head("half.glb", 100).unwrap()).unwrap();
    wait_until("the file to begin", || folder.path().read_dir().unwrap().count() > 0);
    drop_joins("receiving files", net_);
    // What was half there is gone.
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    wait_until("the lookup's end", || threads::names().is_empty());
}

/// A listener whose queue is full answers no more connections (on Linux).
fn connecting() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let fill: Vec<_> =
        (0..4).map_while(|_| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()).collect();
    let net_ = net(None);
    net_.send(NetCommand::Join { address: address.to_string() }).unwrap();
    wait_until("an attempt", || {
        threads::names().iter().any(|n| n == "meeting-connect" || n.ends_with("-read"))
    });
    println!("waiting behind {} connections: {:?}", fill.len(), threads::names());
    drop_joins("connecting to an address that does not answer", net_);
}

#[test]
fn asking_never_waits() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let net_ = net(None);
    let start = Instant::now();
    // Each of these takes the driver far longer than asking takes us.
    let refused = (0..100_000).any(|_| net_.send(NetCommand::Host { bind: here(), port: 0 }).is_err());
    assert!(refused, "the queue took everything");
    for n in 0..100_000 {
        net_.set_body(Body::rest(), n);
    }
    let _ = net_.view();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // The driver is not stuck: it answers when it has come so far.
    wait_until("room in the queue", || net_.send(NetCommand::Stats { seq: 5 }).is_ok());
    wait_for(&net_, "stats", |e| matches!(e, NetEvent::Stats { seq: 5, .. }).then_some(()));
}

/// How long a model takes to a guest that reads.
fn transfer(beside: usize) -> Duration {
    const BYTES: usize = 32 << 20;
    let (net_, port) = host(None);
    let _slow: Vec<RawPeer> = (0..beside).map(|_| RawPeer::join(port, &looksee_version("17"))).collect();
    let mut guest = RawPeer::join(port, &looksee_version("17"));
    let start = Instant::now();
    open(&net_, "big", BYTES);
    guest.wait_for(|f| matches!(f, Frame::Model(m) if m.glb.len() == BYTES));
    start.elapsed()
}

#[test]
fn a_guest_that_does_not_read_slows_nobody() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let alone = transfer(0);
    let beside = transfer(3);
    println!("alone {alone:?}, beside three that do not read {beside:?}");
    assert!(beside < alone * 10 + Duration::from_secs(2), "alone {alone:?}, beside others {beside:?}");
}
