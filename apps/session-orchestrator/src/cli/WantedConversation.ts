/**
 * Opens or finds the conversation of `holdfast run` and `holdfast rpc` in a service.
 *
 * The same turn id again is the same turn, in its own conversation. A conversation keeps its system prompt, and a turn its model: what the
 * flags give otherwise is refused, by what is in the database.
 */
import type { Ids } from "@holdfast/wire"
import { defined } from "@holdfast/wire"
import type { RetrySettings } from "@holdfast/policy"
import { Effect, Option } from "effect"
import { Inspection } from "../inspection/Inspection.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import type * as Service from "./client/Service.ts"

/** The conversation that the flags mean. */
export interface Wanted {
  /** Absent: the conversation of the turn, or a new one. */
  readonly conversationId: Ids.ConversationId | undefined
  /** Of a new conversation; an existing one must have the same. */
  readonly system: string | undefined
  /** `provider/model`; an existing conversation gets it for its new turns, an existing turn must have the same. */
  readonly model: string | undefined
  /** Of a new conversation. */
  readonly profile: RetrySettings.ProfileName | undefined
  /** The service was named, and its database may be out of reach. */
  readonly isNamed: boolean
}

/** Opens the conversation, or finds it and gives it the model. */
export const open = Effect.fnUntraced(function* <E extends StartFailure>(
  parts: Pick<Parts<E>, "inspection">,
  client: Service.Client,
  wanted: Wanted,
  turnId?: Ids.TurnId
) {
  const { model, profile, system } = wanted
  const known =
    turnId === undefined
      ? undefined
      : yield* Effect.catchIf(client.turn(turnId).getState, isMissing, () => Effect.undefined)
  const id = wanted.conversationId ?? known?.conversationId
  if (id === undefined) {
    const retry = profile === undefined ? undefined : { profile }
    return yield* client.createConversation(defined({ model, retry, system }))
  }
  const conversation = client.conversation(id)
  const { model: current } = yield* conversation.getState
  if (known !== undefined && known.conversationId !== id) {
    return yield* refused(
      `Turn ${known.turnId} belongs to conversation ${known.conversationId}, not to ${id}. Choose a new turn id.`
    )
  }
  if (wanted.isNamed && system !== undefined) {
    const message = `--system: conversation ${id} exists, and keeps its system prompt. Leave the flag out.`
    return yield* new Refused({ message, exitCode: ExitCode.USAGE })
  }
  const isChecked = system !== undefined || (known !== undefined && model !== undefined && !wanted.isNamed)
  const difference = isChecked
    ? yield* Effect.provide(differenceOf(wanted, id, known?.turnId), parts.inspection)
    : undefined
  if (difference !== undefined) return yield* refused(difference)
  if (known === undefined && model !== undefined && model !== current) yield* conversation.setModel(model)
  return conversation
})

// --- internal

const isMissing = ({ status }: { readonly status: number | undefined }): boolean => status === 404

/** What the conversation or the turn has otherwise, as a sentence. */
const differenceOf = Effect.fnUntraced(function* (
  { model, system }: Pick<Wanted, "model" | "system">,
  id: Ids.ConversationId,
  turnId: Ids.TurnId | undefined
) {
  const inspection = yield* Inspection
  const conversation = Option.getOrUndefined(yield* inspection.conversation(id))
  if (system !== undefined && system !== conversation?.system) {
    return `Conversation ${id} has ${conversation?.system === undefined ? "no system prompt" : "another system prompt"}, and it cannot be changed. Leave it out, or begin a new conversation.`
  }
  if (turnId === undefined || model === undefined) return undefined
  const evidence = yield* inspection.evidence(turnId)
  const own = evidence?.turn.model ?? conversation?.model
  return model === own ? undefined : `Turn ${turnId} is on ${own}, not on ${model}. Leave the model out.`
})

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.FAILED }))
