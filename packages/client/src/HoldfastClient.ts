/**
 * Talks to one Holdfast service: conversations, turns, lists and reports.
 *
 * **Example** (A turn through an outage)
 *
 * ```ts
 * const client = new HoldfastClient({ url: "http://127.0.0.1:4747" })
 * const conversation = await client.createConversation()
 * const turn = await conversation.prompt("Are you there?")
 * for await (const event of turn) {
 *   if (event.type === "text-delta") process.stdout.write(event.delta)
 * }
 * ```
 */
import type {
  ConversationState,
  EffectiveConfiguration,
  Health,
  PeriodReport,
  Prompt,
  TurnCourse,
  TurnState
} from "@holdfast/wire"
import type {
  BulkCommands,
  DryRunGroup,
  Listing,
  NewConversation,
  SchedulePreview,
  WorkGroup
} from "@holdfast/wire/api"
import { Conversation, type TurnOptions } from "./Conversation.ts"
import * as Cursor from "./stream/Cursor.ts"
import { type Fetch, make as makeHttp } from "./transport/HttpTransport.ts"
import type { ChosenTransport } from "./transport/ServiceTransport.ts"
import { randomId } from "./transport/Runtime.ts"
import { ask, type CallOptions, type ClientParts, Turn } from "./Turn.ts"

/** Where the service is, and how patient the client is with it. */
export interface ClientOptions {
  /** The service's address; by default that of the page, or `http://127.0.0.1:4747`. */
  readonly url?: string
  /** The service's token (`server.token`). */
  readonly token?: string
  /**
   * Milliseconds for which a call, and the first connection of a stream, is tried again while the service does not answer; 30,000 by default. A
   * stream that was open reconnects without a limit.
   */
  readonly retryForMs?: number
  /** The delays between connections that fail: 250 ms, doubled up to 10 s. */
  readonly backoff?: Partial<Cursor.Backoff>
  /** What carries commands and streams: `webSocket()`, or HTTP with server-sent events by default. Other calls go over HTTP in any case. */
  readonly transport?: ChosenTransport
  /** Makes requests in the place of the runtime's `fetch`. */
  readonly fetch?: Fetch
}

/** Which turns a list has. */
export interface TurnFilter extends CallOptions {
  readonly status?: TurnState.TurnState["status"]
  /** With a status of turns that have ended: ended since then. Otherwise: accepted since then. */
  readonly since?: Date | number
  /** `provider/model`, or a provider. */
  readonly model?: string
  readonly tag?: string
  /** A text in the prompt or the answer. */
  readonly search?: string
  /** Entries that one call reads: 1 to 200, 50 by default. */
  readonly limit?: number
}

/** Which conversations a list has. */
export interface ConversationFilter extends Omit<TurnFilter, "status"> {
  /** Those whose newest turn has not ended. */
  readonly busy?: true | undefined
  /** These alone; unknown ones are left out. */
  readonly ids?: ReadonlyArray<string> | undefined
}

/** What a new conversation is opened with. */
export interface ConversationOptions extends NewConversation.CreateConversation, CallOptions {}

/** What a submitted turn is opened with: options of the turn and of its conversation. */
export interface SubmitOptions extends NewConversation.CreateConversation, Omit<TurnOptions, "tags" | "metadata"> {}

/** Which turns a report is of. */
export interface ReportOptions extends CallOptions {
  readonly since?: Date | number | undefined
  /** Those of this conversation alone. */
  readonly conversation?: string | undefined
}

/** A client of one service. */
export class HoldfastClient {
  readonly #shared: ClientParts

  constructor(options: ClientOptions = {}) {
    const { retryForMs = 30_000, token } = options
    const url = (options.url ?? originOf(globalThis as object)).replace(/\/+$/, "")
    const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
    const backoff = { ...Cursor.DEFAULT_BACKOFF, ...options.backoff }
    const http = makeHttp({ url, token, fetch, retryForMs, backoff })
    const transport = options.transport?.({ url, token, retryForMs, backoff }, http) ?? http
    this.#shared = { transport, retryForMs, backoff }
  }

  /** Opens a conversation. */
  async createConversation({ signal, ...body }: ConversationOptions = {}): Promise<Conversation> {
    const call = { method: "POST", path: "/v1/conversations", body, isRepeatable: false, signal } as const
    const { conversationId } = (await this.#shared.transport.call(call)) as { readonly conversationId: string }
    return this.conversation(conversationId)
  }

  /** A conversation by its id. Makes no call. */
  conversation(id: string): Conversation {
    return new Conversation(this.#shared, id)
  }

  /** Hands in a turn with a conversation of its own, in one call. */
  async submit(prompt: Prompt.Prompt, { signal, turnId = randomId(), ...rest }: SubmitOptions = {}): Promise<Turn> {
    const submitted: WorkGroup.TurnSubmitted = await ask(this.#shared, "/v1/turns", signal, { prompt, turnId, ...rest })
    return new Turn(this.#shared, turnId, submitted)
  }

  /** A turn by its id. Makes no call. */
  turn(id: string): Turn {
    return new Turn(this.#shared, id)
  }

  /** Lists turns of all conversations, newest first; pages are read as the iteration needs them. */
  async *listTurns({ signal, ...filter }: TurnFilter = {}): AsyncGenerator<TurnState.TurnSummary, void> {
    for await (const { turns } of this.#pages<Listing.TurnPage>("/v1/turns", filter, signal)) yield* turns
  }

  /** Lists conversations, newest first. */
  async *listConversations({ signal, ...filter }: ConversationFilter = {}): AsyncGenerator<
    ConversationState.ConversationSummary,
    void
  > {
    const pages = this.#pages<Listing.ConversationPage>("/v1/conversations", filter, signal)
    for await (const { conversations } of pages) yield* conversations
  }

  /** Carries out a command for each turn of a filter, and reports each; the iteration must be read to its end. */
  async *commandTurns(
    request: Omit<BulkCommands.RunBulk, "cursor">,
    { signal }: CallOptions = {}
  ): AsyncGenerator<BulkCommands.BulkOutcome, void> {
    let cursor: string | undefined
    do {
      const body = { ...request, ...(cursor === undefined ? undefined : { cursor }) }
      // A page that is commanded again is reported as idle, and a retry has an id that follows from its turn's.
      const { next, turns }: BulkCommands.BulkReport = await ask(this.#shared, "/v1/turns/commands", signal, body)
      yield* turns
      cursor = next
    } while (cursor !== undefined)
  }

  /** Raises a limit of spending, by default to as much again. Turns that ask about it go on. */
  async raiseLimit(body: WorkGroup.RaiseLimit, { signal }: CallOptions = {}): Promise<WorkGroup.RaisedLimit> {
    return await ask(this.#shared, "/v1/spend/raise", signal, body)
  }

  /** Reads attempts and waits of turns, 50 at most, as spans of time. */
  async readCourses(
    turnIds: ReadonlyArray<string>,
    { signal }: CallOptions = {}
  ): Promise<ReadonlyArray<TurnCourse.TurnCourse>> {
    return (await ask<WorkGroup.Courses>(this.#shared, "/v1/turns/courses", signal, { turnIds })).courses
  }

  /** Reports what happened since a moment; by default in the last twelve hours, or since the conversation began. */
  async report({ conversation, signal, since }: ReportOptions = {}): Promise<PeriodReport.PeriodReport> {
    return await ask(this.#shared, `/v1/report${queryOf({ conversation, since })}`, signal)
  }

  /** Lists the waits of a policy: the configuration's, or settings over it. */
  async schedule(
    body: SchedulePreview.PreviewSchedule = {},
    { signal }: CallOptions = {}
  ): Promise<SchedulePreview.SchedulePreview> {
    return await ask(this.#shared, "/v1/schedule", signal, body)
  }

  /** Tries a policy before outages, under a clock that jumps. */
  async dryRun(body: DryRunGroup.RunDryRun, { signal }: CallOptions = {}): Promise<DryRunGroup.DryRunAnswer> {
    return await ask(this.#shared, "/v1/dry-run", signal, body)
  }

  /** Reports what is known of each endpoint: gate, pauses, and calls of the last hour. */
  async health({ signal }: CallOptions = {}): Promise<Health.Health> {
    return await ask(this.#shared, "/v1/health", signal)
  }

  /** Reports the configuration in force, without secrets. */
  async configuration({ signal }: CallOptions = {}): Promise<EffectiveConfiguration.EffectiveConfiguration> {
    return await ask(this.#shared, "/v1/configuration", signal)
  }

  /** Ends all calls and streams of this client. Turns run on. */
  close(): void {
    this.#shared.transport.close()
  }

  async *#pages<Page extends { readonly next?: string }>(
    path: string,
    filter: Filter,
    signal: AbortSignal | undefined
  ): AsyncGenerator<Page, void> {
    let cursor: string | undefined
    do {
      const page: Page = await ask(this.#shared, path + queryOf({ ...filter, cursor }), signal)
      yield page
      cursor = page.next
    } while (cursor !== undefined)
  }
}

// --- internal

type Filter = Readonly<Record<string, string | number | true | Date | ReadonlyArray<string> | undefined>>

const queryOf = (filter: Filter): string => {
  const query = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(String(value instanceof Date ? Number(value) : value))}`]
  )
  return query.length === 0 ? "" : `?${query.join("&")}`
}

/** The default address of the service (`server.host`, `server.port`). */
const DEFAULT_URL = "http://127.0.0.1:4747"

const originOf = (global: { readonly location?: unknown }): string => {
  const { location } = global
  const origin = typeof location === "object" && location !== null && "origin" in location ? location.origin : undefined
  return typeof origin === "string" && /^https?:/.test(origin) ? origin : DEFAULT_URL
}
