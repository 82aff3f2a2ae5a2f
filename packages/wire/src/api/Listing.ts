/**
 * Lists of turns and conversations: what is asked for, and what a page is.
 *
 * A page may be shorter than its limit, and empty, while there is a `next`: a filter that few match is looked for in steps. A cursor
 * belongs to the filter that it came with. With another one, and for text that is no cursor, it is refused.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { ConversationSummary } from "../ConversationState.ts"
import { ConversationId, TurnId } from "../Ids.ts"
import { Tag } from "../Labels.ts"
import * as Rfc3339 from "../values/Rfc3339.ts"
import { NonEmptyText } from "../values/Text.ts"
import { TurnState, TurnSummary } from "../TurnState.ts"
import * as ExampleTurn from "./ExampleTurn.ts"

/** The limit of a page, if a client gives none. */
export const DEFAULT_LIMIT = 50

/** The largest limit of a page. */
export const MOST = 200

const LIMIT = `expected a whole number from 1 to ${MOST}`

const limit = Schema.String.annotate({
  description: `Entries of a page: 1 to ${MOST}, ${DEFAULT_LIMIT} by default.`,
  examples: ["100"]
}).pipe(
  Schema.check(Schema.isPattern(/^\d{1,6}$/, { message: LIMIT })),
  Schema.decodeTo(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MOST }, { message: LIMIT })),
    SchemaTransformation.numberFromString
  )
)

const SINCE = "expected epoch milliseconds, or a date as RFC 3339 writes it, such as 2026-02-14T07:00:00Z"

/** A moment in the past, in a query. */
const since = (description: string) =>
  Schema.String.annotate({ description, examples: ["2026-02-14T07:00:00Z", "1771052400000"] }).pipe(
    Schema.decodeTo(
      Schema.Finite,
      SchemaTransformation.transformEffect<number, string>({
        decode: (text, options) => {
          // Down to the whole millisecond: what happened within it is included.
          const moment = /^\d{1,15}$/.test(text) ? Number(text) : Math.floor(Rfc3339.parse(text) ?? Number.NaN)
          return Number.isNaN(moment)
            ? Effect.fail(new SchemaIssue.InvalidValue({ message: SINCE }, text, options))
            : Effect.succeed(moment)
        },
        encode: (moment) => Effect.succeed(String(moment))
      })
    )
  )

const cursor = Schema.String.annotate({
  description: "`next` of the page before, with the same filter."
})

const paging = { limit: Schema.optionalKey(limit), cursor: Schema.optionalKey(cursor) }

const model = Schema.optionalKey(
  NonEmptyText.annotate({
    description: "`provider/model`, or a provider: what the turn waits for, runs on or ended on.",
    examples: ["anthropic/claude-sonnet-4-5", "anthropic"]
  })
)

const tag = Schema.optionalKey(Tag.annotate({ description: "A tag that it has.", examples: ["nightly"] }))

const MOST_SEARCHED = 200

/** A text to search for. */
const search = (where: string) =>
  Schema.optionalKey(
    NonEmptyText.check(
      Schema.isMaxLength(MOST_SEARCHED, { message: `expected ${MOST_SEARCHED} characters at most` })
    ).annotate({
      description: `A text in ${where}, in capital or small letters. A page looks at a thousand at most: follow \`next\`.`,
      examples: ["disk full"]
    })
  )

/** What a list of turns is asked for. */
export const turnsQuery = {
  status: Schema.optionalKey(
    TurnState.fields.status.annotate({ description: "What the turns are at, or how they ended." })
  ),
  since: Schema.optionalKey(
    since("With a status of turns that have ended: ended since then. Otherwise: accepted since then.")
  ),
  model,
  tag,
  search: search("the prompt or the answer"),
  ...paging
}

/** What a list of conversations is asked for. */
export const conversationsQuery = {
  since: Schema.optionalKey(since("Opened since then.")),
  model: Schema.optionalKey(
    NonEmptyText.annotate({ description: "`provider/model`, or a provider: what the conversation was opened with." })
  ),
  tag,
  search: search("the title or a prompt"),
  busy: Schema.optionalKey(
    Schema.Literal("true").annotate({
      description: "Those whose newest turn has not ended, by that turn in place of their own age."
    })
  ),
  ids: Schema.optionalKey(
    Schema.String.annotate({
      description: `These alone, ${MOST} at most, separated by commas; unknown ones are left out.`,
      examples: ["c_4f2k9x,c_91hw3d"]
    }).pipe(
      Schema.decodeTo(
        Schema.Array(ConversationId).check(Schema.isMinLength(1), Schema.isMaxLength(MOST)),
        SchemaTransformation.transform<ReadonlyArray<string>, string>({
          decode: (text) => text.split(","),
          encode: (ids) => ids.join(",")
        })
      )
    )
  ),
  ...paging
}

/** The query of a report. */
export const reportQuery = {
  since: Schema.optionalKey(since("The beginning of the period. Absent: twelve hours ago.")),
  conversation: Schema.optionalKey(
    ConversationId.annotate({
      description: "The turns of this conversation alone, by default since its beginning: what it has cost until now."
    })
  )
}

const next = Schema.optionalKey(
  Schema.String.annotate({ description: "Cursor of the next page; absent on the last one." })
)

const EXAMPLE_CURSOR = "eyJ2IjoxfQ"

/** A page of turns. */
export const TurnPage = Schema.Struct({ turns: Schema.Array(TurnSummary), next }).annotate({
  identifier: "TurnPage",
  description: "Turns, newest first. A page may be shorter than its limit, and empty, while there is a `next`.",
  examples: [
    { turns: [{ ...ExampleTurn.waitingTurn, prompt: "Summarise yesterday's incidents." }], next: EXAMPLE_CURSOR }
  ]
})
export type TurnPage = typeof TurnPage.Type

/** A page of conversations. */
export const ConversationPage = Schema.Struct({ conversations: Schema.Array(ConversationSummary), next }).annotate({
  identifier: "ConversationPage",
  description: "Conversations, newest first. A page may be shorter than its limit, and empty, while there is a `next`.",
  examples: [
    {
      conversations: [
        {
          conversationId: ConversationId.make("c_4f2k9x"),
          model: "openai/gpt-5",
          title: "Incidents of the week",
          createdAt: 1_901_232_000_000,
          lastTurnId: TurnId.make("t_7hq2m1"),
          isBusy: true
        }
      ]
    }
  ]
})
export type ConversationPage = typeof ConversationPage.Type
