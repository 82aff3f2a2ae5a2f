/**
 * Talks to a process of `holdfast rpc`: commands as promises, events by listener or async iterable (rule P16).
 *
 * RpcClient.C1. `prompt` and `retry` end with their turn, after all its retries (P13); other commands end when they are on disk.
 * RpcClient.C2. When the process ends, every call that waits fails with an `RpcError` that has the process's last words.
 * RpcClient.C3. The end of this program ends the process: its standard input closes. Turns that have not ended stay on disk.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { extname } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { LineSplitter } from "@holdfast/wire/rpc"
import type { Prompt, TurnEvent } from "../Events.ts"
import { EventQueue } from "./EventQueue.ts"
import { RpcError } from "./RpcError.ts"
import type { RpcResult, RpcState } from "./RpcTypes.ts"
import { TurnResults } from "./TurnResults.ts"

/** How the process is started, and which conversation it runs. */
export interface RpcOptions {
  /** The program and its first arguments; by default the service that is installed beside this package (`@holdfast/server`). */
  readonly command?: readonly [string, ...ReadonlyArray<string>]
  /** A conversation to resume. Without it a new one begins. */
  readonly conversation?: string
  /** With `conversation`: the last event that is known, as `lastEventId` of its state. Without it all events come again. */
  readonly after?: number
  /** `provider/model`. */
  readonly model?: string
  readonly profile?: "overnight" | "interactive" | "cycling"
  /** System prompt of the new conversation. */
  readonly system?: string
  /** The configuration's file. */
  readonly config?: string
  readonly cwd?: string
  /** The process's environment; by default this program's. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Receives the process's log. */
  readonly onLog?: (text: string) => void
}

/** A command's id: the same command sent twice takes effect once. */
interface Once {
  readonly commandId?: string
}

/** One conversation in a process of its own. */
export class RpcClient implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Set<(event: TurnEvent) => void>()
  readonly #results = new TurnResults()
  readonly #closed: Promise<number | null>
  #lastWords = ""
  #failure: RpcError | undefined
  #lastId = 0

  /** Starts the process. A failure to start is the error of the first call. */
  constructor(options: RpcOptions = {}) {
    const [program, ...first] = options.command ?? [process.execPath, OWN_COMMAND]
    const child = spawn(program, [...first, "rpc", ...argumentsOf(options)], { cwd: options.cwd, env: options.env })
    this.#child = child
    const splitter = new LineSplitter.LineSplitter(MOST_OUTPUT_BYTES)
    child.stdout.on("data", (bytes: Uint8Array) => {
      for (const line of splitter.push(bytes)) this.#receive(line)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-MOST_LAST_WORDS)
      options.onLog?.(text)
    })
    // The process's end follows, and has the reason.
    child.stdin.on("error", () => {})
    this.#closed = new Promise((resolve) => {
      child.on("error", (cause) => {
        this.#fail(new RpcError("closed", `${program} could not be started: ${cause.message}`, { cause }))
        resolve(null)
      })
      child.on("close", (code, signal) => {
        const how = signal === null ? `with exit code ${code}` : `by ${signal}`
        const words = this.#lastWords.trim()
        this.#fail(new RpcError("closed", `holdfast rpc has ended ${how}.${words === "" ? "" : ` It wrote: ${words}`}`))
        resolve(code)
      })
    })
  }

  /** Runs a turn, and returns its end. */
  prompt(prompt: Prompt): Promise<RpcResult> {
    return this.#turn({ type: "prompt", prompt })
  }

  /** Runs the model again from the last prompt, after an error or an abort. */
  retry(): Promise<RpcResult> {
    return this.#turn({ type: "retry" })
  }

  /** Ends the retries, then the turn. Returns whether there was a turn. */
  abort(): Promise<boolean> {
    return this.#apply({ type: "abort" })
  }

  /** Switches automatic retries, from the next failure on. */
  async setAutoRetry(enabled: boolean): Promise<void> {
    await this.#send({ type: "set_auto_retry", enabled })
  }

  /** Gives up: ends the wait, and the turn with its last error. Like the calls below it returns whether a turn waited. */
  abortRetry(once: Once = {}): Promise<boolean> {
    return this.#apply({ type: "abort_retry", ...once })
  }

  /** Ends the wait and makes the next attempt. */
  retryNow(once: Once = {}): Promise<boolean> {
    return this.#apply({ type: "retry_now", ...once })
  }

  /** Moves the end of the wait: a date, or epoch milliseconds. */
  waitUntil(until: Date | number, once: Once = {}): Promise<boolean> {
    return this.#apply({ type: "wait_until", until: Number(until), ...once })
  }

  /** Ends the wait; the rest of the turn runs on this `provider/model`. */
  switchTarget(model: string, once: Once = {}): Promise<boolean> {
    return this.#apply({ type: "switch_target", model, ...once })
  }

  /** Adds milliseconds to the budget of the step that waits. */
  extendBudget(byMs: number, once: Once = {}): Promise<boolean> {
    return this.#apply({ type: "extend_budget", byMs, ...once })
  }

  /** Reads the conversation's state. */
  async getState(): Promise<RpcState> {
    // The process is of the same protocol: its answer is not checked again.
    return (await this.#send({ type: "get_state" })) as RpcState
  }

  /** Calls a function with every event from now on. Returns what ends that. */
  on(listener: (event: TurnEvent) => void): () => void {
    // One listener may be added twice.
    const own = (event: TurnEvent) => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /**
   * The events from now on, until the process ends. Each iteration has all of them.
   *
   * **Gotchas**
   *
   * Events that are not read yet are kept in memory. An iteration that is 100,000 events behind fails with the code `too-slow`.
   */
  events(): AsyncIterableIterator<TurnEvent> {
    const queue = new EventQueue<TurnEvent>(() => off())
    const off = this.on((event) => queue.push(event))
    void this.#closed.then(() => queue.end())
    return queue
  }

  /** Ends the process and returns its exit code; `null` where a signal ended it, or it never started. */
  close(): Promise<number | null> {
    this.#child.stdin.end()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #turn(command: Command): Promise<RpcResult> {
    let result: Promise<RpcResult>
    this.#results.expect()
    try {
      const { turnId } = (await this.#send(command)) as { readonly turnId: string }
      result = this.#results.of(turnId)
    } finally {
      this.#results.unexpect()
    }
    return result
  }

  async #apply(command: Command): Promise<boolean> {
    return ((await this.#send(command)) as { readonly applied: boolean }).applied
  }

  #send(command: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      const id = ++this.#lastId
      const line = JSON.stringify({ id, ...command })
      if (Buffer.byteLength(line) > LineSplitter.MOST_COMMAND_BYTES) {
        const most = LineSplitter.MOST_COMMAND_BYTES
        return reject(new RpcError("refused", `The command ${command.type} is longer than ${most} bytes.`))
      }
      this.#pending.set(id, { resolve, reject })
      this.#child.stdin.write(`${line}\n`)
    })
  }

  #receive(line: LineSplitter.Line): void {
    const output = line._tag === "Text" ? parse(line.text) : undefined
    if (output === undefined) {
      const what = line._tag === "Text" ? JSON.stringify(line.text.slice(0, MOST_QUOTED)) : "a line that cannot be read"
      this.#fail(new RpcError("invalid-output", `holdfast rpc wrote ${what}, which is no line of its protocol.`))
      return void this.#child.kill()
    }
    if (output.type === "response") return this.#answer(output)
    this.#results.see(output)
    for (const listener of this.#listeners) {
      try {
        listener(output)
      } catch (error) {
        // A listener's bug is the program's, and no reason to lose a line.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  #answer({ data, error, id, success }: Response): void {
    const pending = this.#pending.get(id ?? 0)
    this.#pending.delete(id ?? 0)
    if (success) pending?.resolve(data)
    else pending?.reject(new RpcError("refused", error ?? "The command was refused."))
  }

  /** RpcClient.C2 */
  #fail(failure: RpcError): void {
    this.#failure ??= failure
    for (const { reject } of this.#pending.values()) reject(this.#failure)
    this.#pending.clear()
    this.#results.fail(this.#failure)
  }
}

// --- internal

interface Command {
  readonly type: string
  readonly [key: string]: unknown
}

interface Pending {
  readonly resolve: (data: unknown) => void
  readonly reject: (error: RpcError) => void
}

interface Response {
  readonly id?: number
  readonly type: "response"
  readonly success: boolean
  readonly data?: unknown
  readonly error?: string
}

/** Longer than any event: a response is bounded, and so are prompts and results of tools. */
const MOST_OUTPUT_BYTES = 256 * 1024 * 1024

const MOST_LAST_WORDS = 2_000
const MOST_QUOTED = 60

/** The command of this package, as source or compiled. */
const OWN_COMMAND = fileURLToPath(new URL(`../bin${extname(import.meta.url)}`, import.meta.url))

const argumentsOf = ({ after, config, conversation, model, profile, system }: RpcOptions): ReadonlyArray<string> =>
  Object.entries({ after, config, conversation, model, profile, system }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)]
  )

const parse = (text: string): Response | TurnEvent | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    // The process is of the same protocol: a line's shape is that of its type.
    return typeof value === "object" && value !== null && "type" in value ? (value as Response | TurnEvent) : undefined
  } catch {
    return undefined
  }
}
