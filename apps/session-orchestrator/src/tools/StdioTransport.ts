/**
 * A tool server as a process of its own, which is spoken to over its standard input and output.
 *
 * P1. It ends with the scope, and all that it has started with it: SIGTERM to its process group, SIGKILL after `GRACE`.
 * P2. It is given the few variables that every process needs and those of its configuration; no key of Holdfast's is among them.
 * P3. A line of its output is read up to `MAX_MESSAGE_BYTES`. With one that is longer the connection is over: its end may
 *     never come, and whatever is held of it is memory.
 * P4. Lines that are no messages are passed over; people leave prints in their servers.
 */
import { deserializeMessage, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client"
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio"
import { Deferred, Duration, Effect, Fiber, Queue, type Scope, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import type { ToolServerReach } from "../config/Config.ts"
import { causeOf } from "../PlatformFailure.ts"
import { StartError, type Way } from "./Connection.ts"

/** The largest output there may be (1 MiB), each of its characters escaped (6 for 1), and what stands around it. */
export const MAX_MESSAGE_BYTES = 8 * 1_048_576

/** Between SIGTERM and SIGKILL. */
const GRACE = Duration.seconds(2)

/** How much is kept of what it printed last, to tell what it died of; characters. */
const KEPT_WORDS = 400

/** After its exit, what it had written before it is still read; this long at most, for a grandchild may hold the pipe. */
const LAST_WORDS = Duration.millis(200)

/** Processes that are killed should this one end without closing its scopes. */
export interface Children {
  readonly add: (pid: number) => void
  readonly delete: (pid: number) => void
}

/** Starts the process; `conceal` takes its secrets out of what it says last. */
export const make = Effect.fnUntraced(function* (
  { args, command, cwd, env }: Extract<ToolServerReach, { readonly type: "stdio" }>,
  children: Children,
  conceal: (text: string) => string
): Effect.fn.Return<Way, StartError, ChildProcessSpawner.ChildProcessSpawner | Scope.Scope> {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  // Before it is started, so that it is forgotten after it has ended.
  const pids: Array<number> = []
  yield* Effect.addFinalizer(() => Effect.sync(() => pids.forEach(children.delete)))
  const child = yield* spawner
    .spawn(
      ChildProcess.make(command, args, {
        env: { ...getDefaultEnvironment(), ...env }, // P2
        killSignal: "SIGTERM",
        forceKillAfter: GRACE,
        ...(cwd === undefined ? undefined : { cwd })
      })
    )
    .pipe(Effect.mapError((error) => new StartError({ message: `it could not be started: ${causeOf(error)}` })))
  pids.push(child.pid)
  children.add(child.pid)

  const lost = yield* Deferred.make<string>()
  const input = yield* Queue.unbounded<string>()
  const transport = new LineTransport((line) => void Queue.offerUnsafe(input, line))
  const end = (why: string) => Deferred.succeed(lost, why)

  let words = ""
  const listening = yield* Effect.forkScoped(
    Stream.runForEach(Stream.decodeText(child.stderr), (text) =>
      Effect.sync(() => {
        words = conceal(words + text).slice(-KEPT_WORDS) // in this order: half a secret is not known again
      })
    ).pipe(Effect.ignore)
  )
  yield* Effect.forkScoped(Effect.ignore(Stream.run(Stream.encodeText(Stream.fromQueue(input)), child.stdin)))
  const reading = yield* Stream.runForEach(child.stdout, (chunk) => Effect.sync(() => transport.read(chunk))).pipe(
    Effect.matchCauseEffect({
      onFailure: () => end(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1_048_576} MiB, and was stopped`),
      onSuccess: () => Effect.void
    }),
    Effect.forkScoped
  )
  yield* child.exitCode.pipe(
    Effect.matchEffect({
      onFailure: (error) => Effect.succeed(/'(SIG\w+)'/.exec(causeOf(error))?.[1] ?? causeOf(error)),
      onSuccess: (code) => Effect.succeed(`exit code ${code}`)
    }),
    Effect.tap(Effect.timeoutOption(Fiber.awaitAll([reading, listening]), LAST_WORDS)),
    Effect.flatMap((how) => end(`its process ended (${how})${lastLineOf(words)}`)),
    Effect.forkScoped
  )
  return { transport, lost }
})

// --- internal

const lastLineOf = (words: string): string => {
  const line = words.toWellFormed().trimEnd().split("\n").at(-1)?.trim() ?? ""
  return line === "" ? "" : `; the last that it said: ${line}`
}

/** One message a line. */
class LineTransport implements Transport {
  onclose?: () => void
  onmessage?: Transport["onmessage"]
  onerror?: (error: Error) => void
  /** What was read of the line that has not ended, and its bytes. */
  private pieces: Array<Uint8Array> = []
  private size = 0
  private readonly write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.write = write
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.write(`${JSON.stringify(message)}\n`)
    return Promise.resolve()
  }

  close(): Promise<void> {
    this.onclose?.()
    return Promise.resolve()
  }

  /** Takes what was read; throws when a message is too long (P3). */
  read(chunk: Uint8Array): void {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.keep(chunk.subarray(start, end))
      start = end + 1
      const line = Buffer.concat(this.pieces).toString("utf8")
      this.pieces = []
      this.size = 0
      this.hear(line)
    }
    this.keep(chunk.subarray(start))
  }

  private keep(piece: Uint8Array): void {
    this.size += piece.length
    if (this.size > MAX_MESSAGE_BYTES) throw new Error("the message is too long")
    if (piece.length > 0) this.pieces.push(piece)
  }

  private hear(line: string): void {
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch {
      return // P4
    }
    this.onmessage?.(message)
  }
}

const LINE_FEED = 10
