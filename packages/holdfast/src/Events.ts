/**
 * The events of a turn, as plain types. The meaning of each stands in CONTRACTS.md of `@holdfast/wire`.
 *
 * They are the types of `@holdfast/wire` with ids as texts, so a program needs no type of another library.
 */
import type {
  Failure as WireFailure,
  Ids,
  Message as Messages,
  Prompt as Prompts,
  Target as Targets,
  TurnEvent as Events
} from "@holdfast/wire"

/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

type Id = Ids.CommandId | Ids.ConversationId | Ids.MessageId | Ids.TurnId

/** A type of the wire with ids as texts. */
type Plain<A> = Json extends A
  ? Json
  : A extends Id
    ? string
    : A extends object
      ? { readonly [K in keyof A]: Plain<A[K]> }
      : A

/** Tokens, as the provider counted them. */
export type Usage = Messages.Usage
/** Why an attempt failed. */
export type Reason = WireFailure.Reason
/** A failure, classified. */
export type Failure = WireFailure.Failure
/** A provider and a model of it. */
export type Target = Targets.Target
/** Text of a message. */
export type TextPart = Messages.TextPart
/** A file of a prompt or of a tool's result: its bytes as base64 (`data`), or its https address (`url`). */
export type FilePart = Messages.FilePart
/** A file that a model returned. */
export type ModelFile = Messages.ModelFile
/** A prompt: text, or a list of texts and files. */
export type Prompt = Prompts.Prompt
/** Reasoning of a model. */
export type ReasoningPart = Messages.ReasoningPart
/** A call of a tool by the model. */
export type ToolCallPart = Plain<Messages.ToolCallPart>
/** The answer to a tool call. */
export type ToolResultPart = Plain<Messages.ToolResultPart>
/** A message of a conversation, by its `role`: of the user, of the model, or the answers to its tool calls. */
export type Message = Plain<Messages.Message>
/** A tool call that needs approval. */
export type AskedCall = Events.AskedCall
/** A wait begins: the next attempt is at `retryAt`. */
export type ProviderRetry = Plain<Events.ProviderRetry>
/** The end of a turn. */
export type TurnEnd = Plain<Events.TurnEnd>
/** What a turn emits, in order. */
export type TurnEvent = Plain<Events.TurnEvent>
