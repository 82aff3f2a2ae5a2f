/**
 * Talks to a process of `holdfast rpc`: commands as promises, events by listener or async iterable (rule P16).
 *
 * `prompt` and `retry` end with their turn, after all its retries (P13); other commands end when they are on disk. When the process
 * ends, every call that waits fails with an `RpcError` that has the process's last words. The end of this program ends the process: its
 * standard input closes. Turns that have not ended stay on disk.
 *
 * RpcClient.C4. Persisted events come in order and without a gap, so their count is the id of the last one: what the next process
 *     continues after (X3).
 */
import { LineSplitter, type RpcLines } from "@holdfast/wire/rpc"
import { JsonShape, type Prompt, type TurnEvent } from "@holdfast/wire"
import * as CommandMethods from "../CommandMethods.ts"
import { answerOf, resultOf, type TurnResult } from "../Turn.ts"
import { Pushed } from "../stream/Pushed.ts"
import * as ProcessChannel from "./ProcessChannel.ts"
import { RpcError } from "../ClientError.ts"

/** A conversation as it is now, with the last persisted event that this client has received. */
export type RpcState = RpcLines.RpcState

/** How the process is started, and which conversation it runs. */
export interface RpcOptions extends ProcessChannel.ChannelOptions {
  /** Receives the process's log. */
  readonly onLog?: (text: string) => void
}

/** A command's id: the same command sent twice takes effect once. */
interface Once {
  readonly commandId?: string
}

/** Options and results of the commands: whether there was a turn, or a wait, to act on. */
interface Calls extends CommandMethods.Shape {
  readonly abort: readonly [object, Promise<boolean>]
  readonly setting: readonly [Readonly<Record<string, never>>, Promise<void>]
  readonly steering: readonly [Once, Promise<boolean>]
}

/** A turn's id of your own: the same id again is the same turn. */
interface TurnId {
  readonly turnId?: string
}

/** One conversation in a process of its own. */
export class RpcClient extends CommandMethods.base<Calls>() implements AsyncDisposable, CommandMethods.Sender<Calls> {
  readonly #channel: ProcessChannel.LineChannel
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Set<(event: TurnEvent.TurnEvent) => void>()
  readonly #results = new TurnResults()
  readonly #closed: Promise<number | null>
  #lastWords = ""
  #failure: RpcError | undefined
  #lastId = 0
  #lastEventId: number

  /** Starts the process. A failure to start is the error of the first call. `open` is for lines over something else than a process. */
  constructor(options: RpcOptions, open: ProcessChannel.OpenChannel = ProcessChannel.open) {
    super()
    const splitter = new LineSplitter.LineSplitter(MOST_OUTPUT_BYTES)
    const { promise, resolve } = Promise.withResolvers<number | null>()
    this.#closed = promise
    this.#lastEventId = options.after ?? 0
    this.#channel = open(options, {
      bytes: (bytes) => {
        for (const line of splitter.push(bytes)) this.#receive(line)
      },
      log: (text) => {
        this.#lastWords = (this.#lastWords + text).slice(-MOST_LAST_WORDS)
        options.onLog?.(text)
      },
      closed: ({ cause, code, message }) => {
        const words = this.#lastWords.trim()
        this.#fail(new RpcError("closed", `${message}${words === "" ? "" : ` It wrote: ${words}`}`, { cause }))
        resolve(code)
      }
    })
  }

  /** The id of the last persisted event that came: the option `after` of the next process. */
  get lastEventId(): number {
    return this.#lastEventId
  }

  /** Runs a turn, and returns its end. */
  prompt(prompt: Prompt.Prompt, options: TurnId = {}): Promise<TurnResult> {
    return this.#turn({ type: "prompt", prompt, ...options })
  }

  /** Runs the model again from the last prompt, after an error or an abort. */
  retry(options: TurnId = {}): Promise<TurnResult> {
    return this.#turn({ type: "retry", ...options })
  }

  /** Sends the command of a method. */
  async [CommandMethods.deliver](
    command: CommandMethods.SentLine,
    { commandId }: Once,
    kind: keyof Calls
  ): Promise<boolean | undefined> {
    const data = await this.#send({ ...command, ...(commandId === undefined ? {} : { commandId }) })
    return kind === "setting" ? undefined : (data as { readonly applied: boolean }).applied
  }

  /** Reads the conversation's state. */
  async getState(): Promise<RpcState> {
    // The process is of the same protocol: its answer is not checked again.
    return (await this.#send({ type: "get_state" })) as RpcState
  }

  /** Calls a function with every event from now on. Returns what ends that. */
  on(listener: (event: TurnEvent.TurnEvent) => void): () => void {
    // One listener may be added twice.
    const own = (event: TurnEvent.TurnEvent) => listener(event)
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
  events(): AsyncIterableIterator<TurnEvent.TurnEvent> {
    const events = new Pushed<TurnEvent.TurnEvent>(MOST_BEHIND, tooSlow)
    const off = this.on((event) => events.push(event))
    void this.#closed.then(() => events.fail(ENDED))
    const reading = read(events, off)
    // A generator ends behind its next event, which may never come; before its first it runs no `finally`.
    const leave = (): ReturnType<typeof reading.return> => {
      off()
      events.fail(ENDED)
      return reading.return()
    }
    return {
      next: () => reading.next(),
      return: leave,
      [Symbol.asyncIterator]() {
        return this
      }
    }
  }

  /** Ends the process and returns its exit code; `null` where a signal ended it, or it never started. */
  close(): Promise<number | null> {
    this.#channel.end()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #turn(command: Command): Promise<TurnResult> {
    let result: Promise<TurnResult>
    this.#results.expect()
    try {
      const { turnId } = (await this.#send(command)) as { readonly turnId: string }
      result = this.#results.of(turnId)
    } finally {
      this.#results.unexpect()
    }
    return result
  }

  #send(command: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      const id = ++this.#lastId
      const line = JSON.stringify({ id, ...command })
      if (new TextEncoder().encode(line).length > LineSplitter.MOST_COMMAND_BYTES) {
        const most = LineSplitter.MOST_COMMAND_BYTES
        return reject(new RpcError("refused", `The command ${command.type} is longer than ${most} bytes.`))
      }
      this.#pending.set(id, { resolve, reject })
      this.#channel.write(`${line}\n`)
    })
  }

  #receive(line: LineSplitter.SplitLine): void {
    const output = line._tag === "Text" ? parse(line.text) : undefined
    if (output === undefined) {
      const what = line._tag === "Text" ? JSON.stringify(line.text.slice(0, MOST_QUOTED)) : "a line that cannot be read"
      this.#fail(new RpcError("invalid-output", `holdfast rpc wrote ${what}, which is no line of its protocol.`))
      return this.#channel.kill()
    }
    if (output.type === "response") return this.#answer(output)
    if (!TRANSIENT.has(output.type)) this.#lastEventId++ // RpcClient.C4
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

  #answer({ code, data, error, id, success }: Response): void {
    const pending = this.#pending.get(id ?? 0)
    this.#pending.delete(id ?? 0)
    if (success) pending?.resolve(data)
    else pending?.reject(new RpcError("refused", error ?? "The command was refused.", { problem: code }))
  }

  #fail(failure: RpcError): void {
    this.#failure ??= failure
    for (const { reject } of this.#pending.values()) reject(this.#failure)
    this.#pending.clear()
    this.#results.fail(this.#failure)
  }
}

/**
 * Collects the results of the turns of one conversation from their events.
 *
 * An end may arrive before the answer that names its turn: ends are kept while such an answer is expected, and no longer.
 */
export class TurnResults {
  /** The text of the last answer of each turn that has not ended. */
  private readonly texts = new Map<string, string>()
  private readonly ended = new Map<string, TurnResult>()
  private readonly waiting = new Map<string, PromiseWithResolvers<TurnResult>>()
  private expected = 0
  private failure: RpcError | undefined

  /** An answer is expected that names a turn. */
  expect(): void {
    this.expected++
  }

  /** The answer has come, or will not come. */
  unexpect(): void {
    this.expected--
    if (this.expected === 0) this.ended.clear()
  }

  /** The result of a turn, now or once it has ended. */
  of(turnId: string): Promise<TurnResult> {
    const ended = this.ended.get(turnId)
    if (ended !== undefined) return Promise.resolve(ended)
    if (this.failure !== undefined) return Promise.reject(this.failure)
    const waiting = this.waiting.get(turnId) ?? Promise.withResolvers<TurnResult>()
    this.waiting.set(turnId, waiting)
    return waiting.promise
  }

  /** Takes the next event. */
  see(event: TurnEvent.TurnEvent): void {
    const { turnId } = event
    const text = answerOf(event)
    if (text !== undefined) this.texts.set(turnId, text)
    if (event.type !== "turn-end") return
    const result = resultOf(event, this.texts.get(turnId) ?? "")
    this.texts.delete(turnId)
    if (this.expected > 0) this.ended.set(turnId, result)
    this.waiting.get(turnId)?.resolve(result)
    this.waiting.delete(turnId)
  }

  /** No further event comes. */
  fail(failure: RpcError): void {
    this.failure = failure
    for (const { reject } of this.waiting.values()) reject(failure)
    this.waiting.clear()
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

type Response = Omit<RpcLines.RpcResponse, "id" | "data"> & { readonly id?: number; readonly data?: unknown }

/** The most events that an iteration may be behind. */
const MOST_BEHIND = 100_000

const tooSlow = () => new RpcError("too-slow", `The iteration was more than ${MOST_BEHIND} events behind.`)

/** The end of the process is the end of its events. */
const ENDED = Symbol("ended")

async function* read<A>(events: Pushed<A>, off: () => void): AsyncGenerator<A, void, void> {
  try {
    for (;;) yield* await events.next()
  } catch (error) {
    if (error !== ENDED) throw error
  } finally {
    off()
  }
}

/** Longer than any event: a response is bounded, and so are prompts and results of tools. */
const MOST_OUTPUT_BYTES = 256 * 1024 * 1024

const MOST_LAST_WORDS = 2_000
const MOST_QUOTED = 60

/** Types of events that are not persisted. Exhaustive: a missing one does not compile. */
const TRANSIENT: ReadonlySet<string> = new Set(
  Object.keys({
    "step-start": true,
    "text-delta": true,
    "reasoning-delta": true,
    file: true,
    "provider-retry": true,
    "tools-missing": true
  } satisfies { readonly [Type in TurnEvent.TransientEvent["type"]]: true })
)

const parse = (text: string): Response | TurnEvent.TurnEvent | undefined => {
  const value: unknown = JsonShape.parse(text)
  // The process is of the same protocol: a line's shape is that of its type.
  return typeof value === "object" && value !== null && "type" in value
    ? (value as Response | TurnEvent.TurnEvent)
    : undefined
}
