/**
 * Sockets beside a plain `ws` server: 1,000 subscribers of one conversation, subscribers that never read, and 2,000 sockets.
 *
 * Sockets.S1. The clients are in this process, so a lag includes their work; both servers have the same clients.
 */
import * as FigureTable from "./FigureTable.ts"
import * as Processes from "./Processes.ts"
import { SocketClient } from "./SocketClient.ts"

const SUBSCRIBERS = 1_000
/** 25 deltas a second for two seconds, to each subscriber. */
const PACE = { deltas: 50, every: 40 }

const READERS = 20
const SILENT = 20
const LARGE = 8
const LARGE_BYTES = 900_000

const SOCKETS = 2_000

const PLAIN_PATH = "/"
const PATH = "/v1/ws"

/** A server with sockets that all get the same events. */
interface Server {
  readonly process: Processes.Process
  /** A new conversation, with the sockets that watch it. Its model answers at a pace, or with one word. */
  readonly watched: (count: number, model: "paced/m" | "short/m") => Promise<ReadonlyArray<SocketClient>>
  /** Makes the server send deltas to these sockets. */
  readonly stream: (clients: ReadonlyArray<SocketClient>) => void
  /** Makes it send a message of so many bytes. */
  readonly sendLarge: (clients: ReadonlyArray<SocketClient>, bytes: number) => void
}

export const run = async (): Promise<void> => {
  const idle = await each(opened)
  FigureTable.print(`${SOCKETS} sockets, each with a subscription`, [
    row("CPU to open one", "us", idle, ({ cpuUs }) => cpuUs),
    row("memory of one", "kB", idle, ({ kb }) => kb)
  ])

  const fanOut = await each(fanned)
  FigureTable.print(`${SUBSCRIBERS} subscribers of one conversation, ${1_000 / PACE.every} deltas a second`, [
    row("CPU a message", "us", fanOut, ({ cpuUs }) => cpuUs),
    row("lag behind the first subscriber, p50", "ms", fanOut, ({ p50 }) => p50),
    row("the same, p99", "ms", fanOut, ({ p99 }) => p99)
  ])

  const alone = await each((server) => beside(server, 0))
  const silent = await each((server) => beside(server, SILENT))
  FigureTable.print(`${READERS} readers of ${LARGE} events of ${LARGE_BYTES / 1_000} kB`, [
    row("until the last reader has the last event", "ms", alone, ({ ms }) => ms),
    row(`the same, beside ${SILENT} that never read`, "ms", silent, ({ ms }) => ms),
    row("growth of the process", "MB", alone, ({ grownMb }) => grownMb),
    row(`the same, beside ${SILENT} that never read`, "MB", silent, ({ grownMb }) => grownMb)
  ])
}

// --- internal

/** Measures both servers, each as a process of its own: memory of an earlier measurement would count otherwise. */
const each = async <A>(
  measure: (server: Server) => Promise<A>
): Promise<{ readonly holdfast: A; readonly bare: A }> => ({
  holdfast: await Processes.inPlace(async (place) => {
    const provider = await Processes.server(place, "FakeProvider.ts")
    const entry = (manner: string) => ({
      type: "openai-compatible",
      baseUrl: `http://127.0.0.1:${provider.port}/${manner}/v1`
    })
    const config = {
      model: "paced/m",
      providers: { paced: entry(`deltas=${PACE.deltas}&every=${PACE.every}`), short: entry("deltas=1") }
    }
    return measure(holdfast(await Processes.serve(place.children, place.folder, { name: "sockets", config })))
  }),
  bare: await Processes.inPlace(async (place) => measure(plain(await Processes.server(place, "PlainSocketServer.ts"))))
})

const row = <A>(
  what: string,
  unit: string,
  { bare, holdfast }: { readonly holdfast: A; readonly bare: A },
  of: (figures: A) => number
): FigureTable.Row => ({ what, unit, holdfast: of(holdfast), bare: of(bare), aim: undefined })

const holdfast = (process: Processes.Process): Server => {
  const conversations = new WeakMap<SocketClient, string>()
  return {
    process,
    watched: async (count, model) => {
      const clients = await openAll(process, PATH, count)
      const [first] = clients
      const { conversationId } = (await first?.ask<{ conversationId: string }>({ type: "create", model })) ?? {}
      await Promise.all(clients.map((client) => client.ask({ type: "subscribe", conversationId })))
      for (const client of clients) conversations.set(client, conversationId ?? "")
      return clients
    },
    stream: ([first]) => first?.send({ type: "prompt", conversationId: conversations.get(first), prompt: "?" }),
    // The prompt is an event; the answer is one word.
    sendLarge: ([first], bytes) =>
      first?.send({ type: "prompt", conversationId: conversations.get(first), prompt: "x".repeat(bytes) })
  }
}

const plain = (process: Processes.Process): Server => ({
  process,
  watched: (count) => openAll(process, PLAIN_PATH, count),
  stream: ([first]) => first?.send(PACE),
  sendLarge: ([first], bytes) => first?.send({ text: "x".repeat(bytes) })
})

const openAll = async (
  process: Processes.Process,
  path: string,
  count: number
): Promise<ReadonlyArray<SocketClient>> => {
  const clients: Array<SocketClient> = []
  // As many at once as a server's backlog takes.
  while (clients.length < count) {
    const some = Array.from({ length: Math.min(100, count - clients.length) }, () =>
      SocketClient.open(process.port, path)
    )
    clients.push(...(await Promise.all(some)))
  }
  return clients
}

const closeAll = (clients: ReadonlyArray<SocketClient>): void => {
  for (const { socket } of clients) socket.destroy()
}

/** What each of a thousand subscribers costs, and how far it is behind. */
const fanned = async (server: Server) => {
  const clients = await server.watched(SUBSCRIBERS, "paced/m")
  const firsts: Array<number> = []
  const lags: Array<number> = []
  const before = Processes.cpuMs(server.process)
  await new Promise<void>((resolve) => {
    let ended = 0
    for (const client of clients) {
      let seen = 0
      client.onMessage = (message) => {
        if (message.includes('"turn-end"') && ++ended === clients.length) resolve()
        if (!message.includes('"text-delta"')) return
        const now = performance.now()
        lags.push(now - (firsts[seen] ??= now))
        seen++
      }
    }
    server.stream(clients)
  })
  const cpuMs = Processes.cpuMs(server.process) - before
  closeAll(clients)
  lags.sort((a, b) => a - b)
  const at = (share: number) => lags[Math.floor(lags.length * share)] ?? 0
  return { cpuUs: (cpuMs * 1_000) / lags.length, p50: at(0.5), p99: at(0.99) }
}

/** Readers beside subscribers that never read. */
const beside = async (server: Server, silent: number) => {
  const clients = await server.watched(READERS + silent, "short/m")
  for (const { socket } of clients.slice(READERS)) socket.pause()
  const readers = clients.slice(0, READERS)
  const resident = Processes.residentBytes(server.process.child)
  const begun = performance.now()
  await new Promise<void>((resolve) => {
    let left = READERS * LARGE
    for (const reader of readers) {
      reader.onMessage = (message) => {
        if (message.length > LARGE_BYTES && --left === 0) resolve()
      }
    }
    for (let n = 0; n < LARGE; n++) server.sendLarge(clients, LARGE_BYTES)
  })
  const ms = performance.now() - begun
  const grownMb = (Processes.residentBytes(server.process.child) - resident) / 1e6
  closeAll(clients)
  return { ms, grownMb }
}

const opened = async (server: Server) => {
  const resident = Processes.residentBytes(server.process.child)
  const before = Processes.cpuMs(server.process)
  const clients = await server.watched(SOCKETS, "short/m")
  const cpuMs = Processes.cpuMs(server.process) - before
  const bytes = Processes.residentBytes(server.process.child) - resident
  closeAll(clients)
  return { cpuUs: (cpuMs * 1_000) / SOCKETS, kb: bytes / 1_000 / SOCKETS }
}
