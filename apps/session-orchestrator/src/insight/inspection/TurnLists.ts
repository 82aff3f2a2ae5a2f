/**
 * Lists turns and conversations to clients of the service (X15).
 *
 * Nothing is woken: all is read from the database, so any process that shares it can list turns of the others. What a turn that has not
 * ended is at, and on which model, is in its records. A filter for that reads the records of at most `MOST_READ` turns a page.
 */
import type { StorageError } from "@holdfast/journal"
import { History } from "@holdfast/kernel/host"
import { type ConversationState, defined, type Ids, type TurnState } from "@holdfast/wire"
import { Listing } from "@holdfast/wire/api"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import { Config } from "../../config/Config.ts"
import { ConversationNotFound, InvalidRequest } from "../../engine/conversation/Conversations.ts"
import { Secrets } from "../../config/redaction/Secrets.ts"
import { Lists } from "../../storage/Lists.ts"
import type { ConversationFilter, Position, TurnFilter, TurnRow } from "../../storage/ListPage.ts"
import { Store } from "../../storage/Store.ts"
import * as TurnReport from "./TurnReport.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"

/** Which turns a list has. */
interface TurnQuery extends ConversationFilter {
  readonly status?: TurnState.TurnState["status"] | undefined
}

/** Which page of a list. */
interface Paging {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** The lists of a service: `turns` and `conversations` page by page (`next` is the cursor of the next page), and `setTitle`. */
export class TurnLists extends Context.Service<TurnLists, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/inspection/TurnLists"
) {}

/** Turns whose records one page reads at most. */
export const MOST_READ = 200

const make = Effect.gen(function* () {
  const lists = yield* Lists
  const store = yield* Store
  const { redact } = yield* Secrets
  const { prices } = yield* Config

  /** A turn as a list has it. Records are read of a turn that has not ended, and of no other. */
  const summaryOf = (row: TurnRow): Effect.Effect<TurnState.TurnSummary, StorageError> =>
    Effect.map(row.turn.end === undefined ? store.recordOutline(row.turn.turnId) : Effect.succeed([]), (records) =>
      TurnReport.ofRow(row, History.of(records), redact, prices)
    )

  return {
    turns: Effect.fn("TurnLists.turns")(function* ({ model, search, since, status, tag }: TurnQuery, paging: Paging) {
      const isOpen = status === "queued" || status === "running" || status === "waiting"
      const filter: TurnFilter = { status: isOpen ? "open" : status, since, model, tag, search }
      const query = ["turns", status, since, model, tag, search]
      const limit = paging.limit ?? Listing.DEFAULT_LIMIT
      // A filter on what only the records have reads on until the page is full.
      const mostRead = isOpen || model !== undefined ? MOST_READ : limit
      const found: Array<{ readonly summary: TurnState.TurnSummary; readonly position: Position }> = []
      let after = yield* positionOf(query, paging)
      let read = 0
      let isFull: boolean
      do {
        const size = Math.min(limit, mostRead - read)
        const page = yield* lists.turns(filter, after, size)
        const summaries = yield* Effect.forEach(page.rows, summaryOf, { concurrency: "unbounded" })
        for (const [i, { position }] of page.rows.entries()) {
          const summary = summaries[i]
          if (summary !== undefined && passes(summary, { model, status })) found.push({ summary, position })
        }
        after = page.next
        read += size
        // A page with fewer rows has looked at as many as it may.
        isFull = found.length >= limit || page.rows.length < size
      } while (!isFull && after !== undefined && read < mostRead)
      const shown = found.slice(0, limit)
      const next = found.length > limit ? shown.at(-1)?.position : after
      return {
        turns: shown.map(({ summary }) => summary),
        ...(next === undefined ? {} : { next: cursorOf(query, next) })
      }
    }),
    conversations: Effect.fn("TurnLists.conversations")(function* (
      { busy, ids, model, search, since, tag }: Omit<ConversationFilter, "isBusy"> & { readonly busy?: "true" },
      paging: Paging
    ) {
      const query = ["conversations", since, model, tag, search, busy, ids]
      const filter = { since, model, tag, search, isBusy: busy === "true", ids }
      const limit = paging.limit ?? Listing.DEFAULT_LIMIT
      const page = yield* lists.conversations(filter, yield* positionOf(query, paging), limit)
      return {
        conversations: page.rows.map(
          ({ conversation, isBusy, labels, lastTurnId, title }): ConversationState.ConversationSummary => ({
            ...conversation,
            ...defined({ title: title === undefined ? undefined : redact(title) }),
            ...labels,
            ...(lastTurnId === undefined ? {} : { lastTurnId }),
            isBusy
          })
        ),
        ...(page.next === undefined ? {} : { next: cursorOf(query, page.next) })
      }
    }),
    /** Sets the title that lists show for a conversation. */
    setTitle: (conversationId: Ids.ConversationId, title: string) =>
      Effect.flatMap(store.change(conversationId, { title }), (isThere) =>
        isThere ? Effect.void : Effect.fail(new ConversationNotFound({ conversationId }))
      )
  }
})

/** Over what is on disk. */
export const layer = Layer.effect(TurnLists, make)

/** The text of a position, as clients carry it from page to page. It belongs to the list and the filter of `query`. */
export const cursorOf = (query: unknown, { at, number }: Position): string =>
  Buffer.from(JSON.stringify([CURSOR_VERSION, printOf(query), at, number])).toString("base64url")

/** The position of a cursor; `undefined` where it is none of this query. */
export const positionIn = (query: unknown, cursor: string): Position | undefined => {
  if (cursor.length > LONGEST_CURSOR || !/^[\w-]+$/.test(cursor)) return undefined
  const read = Option.getOrUndefined(decodeCursor(Buffer.from(cursor, "base64url").toString("utf8")))
  return read?.[1] === printOf(query) ? { at: read[2], number: read[3] } : undefined
}

// --- internal

const REFUSAL = "cursor: it is none that this list gave with the same filter. Leave it out, which gives the first page."

const CURSOR_VERSION = 1

/** Far more than any of them has. */
const LONGEST_CURSOR = 200

const whole = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const decodeCursor = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Tuple([Schema.Literal(CURSOR_VERSION), Schema.String, whole, whole]))
)

const printOf = (query: unknown): string =>
  createHash("sha256").update(JSON.stringify(query)).digest("base64url").slice(0, 8)

const positionOf = (query: unknown, { cursor }: Paging): Effect.Effect<Position | undefined, InvalidRequest> => {
  if (cursor === undefined) return Effect.undefined
  const position = positionIn(query, cursor)
  return position === undefined ? Effect.fail(new InvalidRequest({ message: REFUSAL })) : Effect.succeed(position)
}

const passes = (summary: TurnState.TurnSummary, { model, status }: TurnQuery): boolean =>
  (status === undefined || summary.status === status) &&
  (model === undefined ||
    ProviderName.namesOf(model).some((name) => summary.model === name || summary.model.startsWith(`${name}/`)))
