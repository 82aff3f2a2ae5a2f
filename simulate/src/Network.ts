/**
 * The network from the service to providers that fail on demand: it stands where undici's dispatcher stands.
 *
 * Adapters, decoders, limits and classification above it are the service's own. Each answer's words name their call: no two calls have the same words,
 * so that a law sees whose content is where.
 */
import type { Dispatcher } from "undici"
import type * as Chance from "./Chance.ts"
import type { Process, World } from "./World.ts"

/** What a call gets. */
export type Reply =
  | { readonly type: "answer"; readonly words: number; readonly paceMs: number }
  /** Words, and a call of a tool; of `half-tool` the end is missing. */
  | {
      readonly type: "tool" | "half-tool"
      readonly tool: string
      readonly words: number
      readonly paceMs: number
      /** A person answers, where the tool needs approval. */
      readonly answeredAfter: number | undefined
    }
  | { readonly type: "status"; readonly status: number; readonly retryAfterS?: number }
  | { readonly type: "hang" | "reset" | "page" }
  /** Words, and then an end without the last frame, an error as a frame, or nothing more. */
  | { readonly type: "cut" | "error-frame" | "stall"; readonly words: number; readonly paceMs: number }

/** A call as the provider saw it. */
export interface Call {
  readonly number: number
  readonly at: number
  readonly by: Process
  readonly host: string
  readonly key: string
  readonly body: string
  readonly reply: Reply
  /** The words that were sent. */
  readonly said: Array<string>
  /** All bytes of the answer that were sent. */
  sent: string
  /** Its last frame was sent. */
  isWhole: boolean
  endedAt: number | undefined
}

/** The word `n` of a call. */
export const word = (call: number, n: number): string => `c${call}w${n} `

/** The id of the tool call in a reply. */
export const toolCallOf = (call: number): string => `tool-${call}`

/** The numbers of the calls whose words are in a text. */
export const callsIn = (text: string): ReadonlySet<number> =>
  new Set(Array.from(text.matchAll(/c(\d+)w\d+ /g), ([, call]) => Number(call)))

/** The prompts in a call's history, by name; the last is that of its turn. */
export const promptsIn = ({ body }: Pick<Call, "body">): ReadonlyArray<string> =>
  Array.from(body.matchAll(/turn:([a-z0-9]+);/g), ([, name = ""]) => name)

export interface Options {
  readonly world: World
  readonly chance: Chance.Chance
  readonly replyTo: (call: number) => Reply
  readonly called: (call: Call) => void
  /** Its next word arrives, or its last frame. */
  readonly sent: (call: Call) => void
  /** It breaks off. */
  readonly broke: (call: Call) => void
}

export class Network {
  readonly calls: Array<Call> = []
  /** Calls that have not ended, of processes that are alive. */
  open(): ReadonlyArray<Call> {
    return this.calls.filter(({ by, endedAt }) => endedAt === undefined && by.isAlive)
  }

  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  readonly dispatch: Dispatcher["dispatch"] = (request: Dispatcher.DispatchOptions, handler) => {
    const { called, chance, replyTo, sent, world } = this.options
    const by = world.current
    if (by === undefined || !by.isAlive) return true
    const number = this.calls.length
    const reply = replyTo(number)
    const call: Call = {
      number,
      at: world.now,
      by,
      host: new URL(String(request.origin)).hostname,
      key: keyOf(request.headers),
      body: String(request.body),
      reply,
      said: [],
      sent: "",
      isWhole: false,
      endedAt: undefined
    }
    this.calls.push(call)
    called(call)
    let aborted = false
    let paused = false
    /** What has arrived while the process does not read. */
    const unread: Array<() => void> = []
    const controller: Dispatcher.DispatchController = {
      get aborted() {
        return aborted
      },
      get paused() {
        return paused
      },
      reason: null,
      rawHeaders: null,
      abort: (reason) => {
        if (aborted || call.endedAt !== undefined) return
        aborted = true
        call.endedAt = world.now
        world.within(by, () => handler.onResponseError?.(controller, reason))
      },
      pause: () => {
        paused = true
      },
      resume: () => {
        paused = false
        for (const act of unread.splice(0)) world.within(by, act)
      }
    }
    /** Something arrives at the process. */
    const arrive = (ms: number, act: () => void, next?: () => void): void => {
      const read = (): void => {
        if (aborted) return
        if (paused) return void unread.push(read)
        act()
        next?.()
      }
      world.after(ms, () => world.within(by, read))
    }
    const over = (act: () => void) => () => {
      call.endedAt = world.now
      act()
    }
    const head = (status: number, headers: Record<string, string>) =>
      handler.onResponseStart?.(controller, status, headers)
    const data = (text: string) => {
      call.sent += text
      handler.onResponseData?.(controller, Buffer.from(text))
    }
    const reset = over(() => handler.onResponseError?.(controller, lost(call.key)))
    const end = over(() => handler.onResponseEnd?.(controller, {}))
    const whole = (status: number, type: string, body: string, headers = {}): void =>
      arrive(
        latency,
        () => head(status, { "content-type": type, ...headers }),
        () =>
          arrive(
            0,
            () => data(body),
            () => arrive(0, end)
          )
      )
    const latency = chance.between(1, 400)
    handler.onRequestStart?.(controller, {})
    switch (reply.type) {
      case "hang":
        return true
      case "reset":
        arrive(latency, reset)
        return true
      case "page":
        whole(200, "text/html", "<html><body>Bad gateway</body></html>")
        return true
      case "status":
        whole(
          reply.status,
          "application/json",
          JSON.stringify({ error: { message: `The key ${call.key} met status ${reply.status}.`, type: "error" } }),
          reply.retryAfterS === undefined ? {} : { "retry-after": String(reply.retryAfterS) }
        )
        return true
      default: {
        const say = (n: number): void => {
          if (n < reply.words) {
            return arrive(
              n === 0 ? 0 : reply.paceMs,
              () => {
                const text = word(number, n)
                call.said.push(text)
                sent(call)
                data(chunk({ content: text }))
              },
              () => say(n + 1)
            )
          }
          if (reply.type === "cut")
            return arrive(reply.paceMs, () => {
              this.options.broke(call)
              reset()
            })
          if (reply.type === "stall") return
          const id = toolCallOf(number)
          if (reply.type === "half-tool") {
            const begun = chunk(toolCall(id, reply.tool, '{"n":'))
            return arrive(
              reply.paceMs,
              () => data(begun),
              () => arrive(reply.paceMs, reset)
            )
          }
          const last =
            reply.type === "answer" || reply.type === "tool"
              ? (reply.type === "answer"
                  ? chunk({}, "stop")
                  : chunk(toolCall(id, reply.tool, `{"n":${number}}`)) + chunk({}, "tool_calls")) + "data: [DONE]\n\n"
              : `data: {"error":{"message":"The server of ${call.key} is overloaded.","type":"overloaded_error"}}\n\n`
          arrive(
            reply.paceMs,
            () => {
              call.isWhole = true
              sent(call)
              data(last)
            },
            () => arrive(0, end)
          )
        }
        arrive(
          latency,
          () => head(200, { "content-type": "text/event-stream" }),
          () => say(0)
        )
        return true
      }
    }
  }
}

// --- internal

/** Adapters pass headers as a record, the gateway as it got them: name, value, name, value. */
const keyOf = (headers: Dispatcher.DispatchOptions["headers"]): string => {
  const given = Array.isArray(headers)
    ? Object.fromEntries(
        headers.flatMap((name: unknown, i) => (i % 2 === 0 ? [[String(name).toLowerCase(), headers[i + 1]]] : []))
      )
    : headers
  const { authorization, "x-api-key": key } = given as Readonly<Record<string, string>>
  return (authorization ?? key ?? "").replace("Bearer ", "")
}

const toolCall = (id: string, name: string, given: string) => ({
  tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: given } }]
})

const lost = (key: string): Error =>
  Object.assign(new Error(`other side closed after ${key}`), { code: "UND_ERR_SOCKET" })

/** A frame of OpenAI's format. */
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: "answer",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(finish === null ? {} : { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
  })}\n\n`
