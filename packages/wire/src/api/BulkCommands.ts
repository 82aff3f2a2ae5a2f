/**
 * Commands to all turns that a filter names (rule X15).
 *
 * One call is bounded by a page of the list, and reports each turn; `next` continues. A filter has at least one key, so no call can mean
 * every turn by mistake. A filter with `turnIds` means these turns and no other, so that a person gets what was counted and confirmed.
 */
import * as Schema from "effect/Schema"
import * as Command from "../Command.ts"
import * as Commands from "../Commands.ts"
import { ConversationId, TurnId } from "../Ids.ts"
import { Tag } from "../Labels.ts"
import { MomentOrDate } from "../values/Moment.ts"
import { NonEmptyText } from "../values/Text.ts"
import { TurnState } from "../TurnState.ts"
import * as Listing from "./Listing.ts"

const command = <N extends Commands.NameOf<"steering">>(name: N) =>
  Schema.Struct({ type: Schema.Literal(Commands.kebab(name)), ...Command.ownOf(name) })

/** The commands that can be given to one turn alone are no commands to many. */
type ForMany = {
  [N in Commands.NameOf<"steering">]: (typeof Commands.commands)[N] extends { readonly isForOne: true } ? never : N
}[Commands.NameOf<"steering">]

const steering: ReadonlyArray<unknown> = Commands.names("steering")
  .filter((name) => Commands.rowOf(name).isForOne !== true)
  .map(command)

/** What is done to each turn; as for one conversation. */
export const BulkCommand = Schema.Union([
  Schema.Struct({ type: Schema.Literal("retry") }),
  Schema.Struct({ type: Schema.Literal("abort") }),
  ...(steering as ReadonlyArray<{ [N in ForMany]: ReturnType<typeof command<N>> }[ForMany]>)
])
export type BulkCommand = typeof BulkCommand.Type

/** Which turns. */
export const BulkFilter = Schema.Struct({
  status: Schema.optionalKey(TurnState.fields.status),
  since: Schema.optionalKey(MomentOrDate),
  model: Schema.optionalKey(NonEmptyText),
  tag: Schema.optionalKey(Tag),
  gateway: Schema.optionalKey(
    Schema.Literal(true).annotate({ description: "Calls through the gateway alone, no turns of conversations." })
  ),
  turnIds: Schema.optionalKey(
    Schema.Array(TurnId)
      .check(Schema.isMinLength(1), Schema.isMaxLength(Listing.MOST))
      .annotate({
        description: `These turns and no other, ${Listing.MOST} at most. One with another status is \`idle\`.`
      })
  )
}).check(
  Schema.makeFilter(({ status, turnIds, ...others }) => {
    if (turnIds !== undefined)
      return Object.keys(others).length === 0 ? undefined : "expected no other key than status beside turnIds"
    return status === undefined && Object.keys(others).length === 0
      ? "expected at least one of status, since, model, tag, gateway and turnIds"
      : undefined
  })
)
export type BulkFilter = typeof BulkFilter.Type

/** The turns of a call without a limit: requests and streams of others wait some milliseconds for them. */
export const DEFAULT_LIMIT = 10

/** A command with its turns. */
export const RunBulk = Schema.Struct({
  command: BulkCommand,
  filter: BulkFilter.annotate({
    description: "As for the list. Without a status: `failed` for a retry, otherwise `waiting`."
  }),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Listing.MOST })).annotate({
      description: `Turns of this call: 1 to ${Listing.MOST}, ${DEFAULT_LIMIT} by default.`
    })
  ),
  cursor: Schema.optionalKey(Schema.String.annotate({ description: "`next` of the call before." })),
  dryRun: Schema.optionalKey(Schema.Boolean.annotate({ description: "Report the turns, and do nothing." }))
}).annotate({
  identifier: "RunBulk",
  examples: [
    { command: { type: "retry" }, filter: { status: "failed", since: 1_901_232_000_000 } },
    { command: { type: "switch-target", model: "openai/gpt-5" }, filter: { model: "anthropic" }, dryRun: true },
    { command: { type: "abort-retry" }, filter: { turnIds: [TurnId.make("t_7hq2m1")] } }
  ]
})
export type RunBulk = typeof RunBulk.Type

/** What became of the command for one turn. */
export const BulkOutcome = Schema.Struct({
  turnId: TurnId,
  conversationId: ConversationId,
  /** `idle`: there was nothing to do. `refused`: `message` has the reason. `listed`: a dry run. */
  outcome: Schema.Literals(["done", "idle", "refused", "listed"]),
  message: Schema.optionalKey(Schema.String),
  /** The turn that runs the model again. */
  retriedBy: Schema.optionalKey(TurnId)
})
export type BulkOutcome = typeof BulkOutcome.Type

/** The outcomes of one call. */
export const BulkReport = Schema.Struct({
  turns: Schema.Array(BulkOutcome),
  next: Schema.optionalKey(
    Schema.String.annotate({ description: "Cursor of the next call; absent after the last one." })
  )
}).annotate({
  identifier: "BulkReport",
  description: "Each turn with what became of the command. It may be empty while there is a `next`.",
  examples: [
    {
      turns: [
        {
          turnId: TurnId.make("t_7hq2m1"),
          conversationId: ConversationId.make("c_4f2k9x"),
          outcome: "done",
          retriedBy: TurnId.make("retry-4f2k9x")
        }
      ]
    }
  ]
})
export type BulkReport = typeof BulkReport.Type
