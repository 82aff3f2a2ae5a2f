/**
 * The connections between runners: what one sends arrives at the other later, in order, unless the connection ends.
 *
 * It stands where sockets stand. A partition holds back what is under way, and what begins; a process that dies ends its connections.
 */
import { Effect, Layer } from "effect"
import { type RunnerAddress, Runners } from "effect/cluster"
import { NetAddress } from "effect/net"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import type * as Chance from "./Chance.ts"
import type { Process, World } from "./World.ts"

type Bytes = Uint8Array | string
type Pulled = Effect.Effect<readonly [Bytes, ...Array<Bytes>], Socket.SocketError>

/** One direction of a connection, as its reader sees it. */
class Pipe {
  readonly reader: Process
  private readonly came: Array<Bytes> = []
  private error: Socket.SocketError | undefined
  private waiting: ((pulled: Pulled) => void) | undefined
  /** Nothing arrives before what was sent before it. */
  arrivesAt = 0

  constructor(reader: Process) {
    this.reader = reader
  }

  readonly pull: Pulled = Effect.callback((resume) => {
    this.waiting = resume
    this.deliver()
    return Effect.sync(() => (this.waiting = undefined))
  })

  take(bytes: Bytes): void {
    this.came.push(bytes)
    this.deliver()
  }

  end(error: Socket.SocketError): void {
    this.error ??= error
    this.deliver()
  }

  private deliver(): void {
    const { waiting } = this
    const [first, ...more] = this.came
    if (waiting === undefined || (first === undefined && this.error === undefined)) return
    this.waiting = undefined
    this.came.length = 0
    waiting(first === undefined ? Effect.fail(this.error ?? closed()) : Effect.succeed([first, ...more]))
  }
}

export class Links {
  /** Messages that were sent from one process to another. */
  messages = 0
  private readonly world: World
  private readonly chance: Chance.Chance
  private readonly servers = new Map<
    string,
    { readonly owner: Process; readonly accept: (socket: Socket.Socket) => void }
  >()
  private readonly connections = new Set<readonly [Pipe, Pipe]>()
  /** Pairs of processes that do not reach each other, until a moment. */
  private readonly partitions = new Map<string, number>()

  constructor(world: World, chance: Chance.Chance) {
    this.world = world
    this.chance = chance
  }

  /** Two processes do not reach each other for so long. */
  part(a: Process, b: Process, ms: number): void {
    this.partitions.set(pairOf(a, b), this.world.now + ms)
  }

  /** The connections of a process that is gone end at the others. */
  gone(process: Process): void {
    for (const connection of this.connections) {
      if (!connection.some(({ reader }) => reader === process)) continue
      this.connections.delete(connection)
      for (const pipe of connection) this.later(process, pipe, () => pipe.end(closed()))
    }
  }

  /** What a process listens with. */
  server(owner: Process, address: RunnerAddress.RunnerAddress): Layer.Layer<SocketServer.SocketServer> {
    const name = nameOf(address)
    return Layer.succeed(SocketServer.SocketServer, {
      address: NetAddress.inetAddressFromStringUnsafe(name),
      run: (handler) =>
        Effect.flatMap(Effect.context<never>(), (context) => {
          const accept = (socket: Socket.Socket) =>
            void Effect.runForkWith(context as never)(handler(socket) as Effect.Effect<unknown>) // its requirements are those of the context
          this.servers.set(name, { owner, accept })
          return Effect.onExit(Effect.never, () => Effect.sync(() => void this.servers.delete(name)))
        })
    })
  }

  /** What a process calls others with. */
  client(owner: Process): Layer.Layer<Runners.RpcClientProtocol, never, RpcSerialization.RpcSerialization> {
    return Layer.effect(
      Runners.RpcClientProtocol,
      RpcSerialization.RpcSerialization.useSync((serialization) => ({
        codecFor: serialization.codecFor,
        make: (address) =>
          Effect.orDie(
            RpcClient.makeProtocolSocket().pipe(
              Effect.provideService(Socket.Socket, this.dial(owner, nameOf(address))),
              Effect.provideService(RpcSerialization.RpcSerialization, serialization)
            )
          )
      }))
    )
  }

  // --- internal

  private dial(from: Process, name: string): Socket.Socket {
    let connection: readonly [Pipe, Pipe] | undefined
    const waiting: Array<Bytes> = []
    const reader: Socket.Socket["reader"] = Effect.callback<Socket.Reader, Socket.SocketError>((resume) => {
      const server = this.servers.get(name)
      const fail = (kind: "Timeout" | "Unknown") =>
        resume(
          Effect.fail(new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind, cause: new Error(name) }) }))
        )
      if (server === undefined || !server.owner.isAlive) {
        this.world.after(1, () => this.world.within(from, () => fail("Unknown")))
        return
      }
      const [near, far] = [new Pipe(from), new Pipe(server.owner)]
      if (this.isParted(from, server.owner)) {
        this.world.after(OPEN_MS, () => this.world.within(from, () => fail("Timeout")))
        return
      }
      this.later(from, far, () => {
        if (this.servers.get(name) !== server) return
        connection = [near, far]
        this.connections.add(connection)
        server.accept(this.socket(server.owner, far, near))
        this.later(server.owner, near, () => {
          for (const bytes of waiting.splice(0)) this.send(from, far, bytes)
          resume(Effect.succeed({ pull: near.pull, upgrade: () => Effect.die("no TLS here") }))
        })
      })
    })
    const write = (bytes: Bytes | Socket.CloseEvent) =>
      Effect.sync(() => {
        if (typeof bytes !== "string" && !(bytes instanceof Uint8Array)) return
        if (connection === undefined) waiting.push(bytes)
        else this.send(from, connection[1], bytes)
      })
    const close = Effect.sync(() => {
      if (connection === undefined) return
      const [, far] = connection
      this.connections.delete(connection)
      this.later(from, far, () => far.end(closed()))
      connection = undefined
    })
    return Socket.make({
      reader: Effect.tap(reader, () => Effect.addFinalizer(() => close)),
      writer: Effect.succeed({ write, writeAll: (all) => Effect.forEach(all, write, { discard: true }) })
    })
  }

  private socket(owner: Process, own: Pipe, other: Pipe): Socket.Socket {
    const write = (bytes: Bytes | Socket.CloseEvent) =>
      Effect.sync(() => {
        if (typeof bytes === "string" || bytes instanceof Uint8Array) this.send(owner, other, bytes)
        else this.later(owner, other, () => other.end(closed()))
      })
    return Socket.make({
      reader: Effect.succeed({ pull: own.pull, upgrade: () => Effect.die("no TLS here") }),
      writer: Effect.succeed({ write, writeAll: (all) => Effect.forEach(all, write, { discard: true }) })
    })
  }

  private send(from: Process, pipe: Pipe, bytes: Bytes): void {
    this.messages++
    this.later(from, pipe, () => pipe.take(bytes))
  }

  /** Something arrives at the reader of a pipe: after a partition, and after what was sent before. */
  private later(from: Process, pipe: Pipe, act: () => void): void {
    const { chance, world } = this
    const until = this.partitions.get(pairOf(from, pipe.reader)) ?? 0
    pipe.arrivesAt = Math.max(pipe.arrivesAt, Math.max(world.now, until) + chance.between(0, 4))
    world.after(pipe.arrivesAt - world.now, () => world.within(pipe.reader, act))
  }

  private isParted(a: Process, b: Process): boolean {
    return (this.partitions.get(pairOf(a, b)) ?? 0) > this.world.now
  }
}

/** A connection that is not opened by then has failed. */
const OPEN_MS = 1_000

const closed = (): Socket.SocketError => new Socket.SocketError({ reason: new Socket.SocketCloseError({ code: 1006 }) })

const pairOf = (a: Process, b: Process): string => [a.name, b.name].toSorted().join(" and ")

const nameOf = ({ host, port }: RunnerAddress.RunnerAddress): string => `${host}:${port}`
