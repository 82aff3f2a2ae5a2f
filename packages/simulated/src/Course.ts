/**
 * Plays the response to a request without a clock: what comes, when, and how it ends. For dry runs and other simulations.
 *
 * It has the responses of the provider in this process (`Simulated`): both perform the same actions, and classify failures by the same
 * function.
 */
import { CallFailure, ProviderCall } from "@holdfast/kernel/host"
import { ToolArguments } from "@holdfast/providers"
import type { Failure, Message } from "@holdfast/wire"
import * as Result from "effect/Result"
import * as Refusal from "./Refusal.ts"
import * as Responder from "./Responder.ts"
import type { ResponseAction } from "./ResponseAction.ts"
import type * as TurnProgress from "./TurnProgress.ts"

/** One request of a turn to one endpoint. */
interface Request {
  /** The same for every request of a turn. */
  readonly turn: string
  /** When the turn was prompted, in epoch milliseconds. */
  readonly startedAt: number
  /** The behaviour of the endpoint, as the model's name has it. */
  readonly script: string
  readonly step: number
  readonly afterTool: boolean
  readonly inputTokens: number
  readonly bytes: () => number
}

/** The end of a response; `Silent`: it never ends. */
export type End =
  | { readonly _tag: "Finished"; readonly finishReason: Message.FinishReason; readonly usage: Message.Usage }
  | { readonly _tag: "Broken"; readonly failure: Failure.Failure }
  | { readonly _tag: "Silent" }

/** A response. Times are in milliseconds after the request. */
export interface Course {
  /** When content came, in order; empty: none did. */
  readonly contentAt: ReadonlyArray<number>
  readonly content: ReadonlyArray<Message.AssistantPart>
  readonly endAt: number
  readonly end: End
}

/** Plays a request that is made at `now`, in epoch milliseconds. A script that is not valid is a model that does not exist. */
export type Play = (request: Request, now: number) => Course

/** Plays the requests of turns that have made none yet. `openedAt` begins the clock of every script. */
export const make = (options: Pick<TurnProgress.Options, "openedAt" | "maxTurns"> = {}): Play => {
  const respond = Responder.make(options)
  return ({ afterTool, bytes, inputTokens, script, startedAt, step, turn }, now) => {
    const response = respond(
      {
        turn,
        model: script,
        prompt: "",
        afterTool,
        tools: [],
        inputTokens: () => inputTokens,
        bytes,
        origin: { startedAt, attempts: 0 }
      },
      now
    )
    const actions = Result.match(response, { onFailure: Refusal.noSuchModel, onSuccess: ({ actions }) => actions })
    return play(actions, now, `call_${turn}_${step}`)
  }
}

// --- internal

const play = (actions: Iterable<ResponseAction>, now: number, toolCallId: string): Course => {
  const contentAt: Array<number> = []
  // Joined in the end: a text that grows by tokens is kept token by token.
  const tokens: { readonly [K in "reasoning" | "text"]: Array<string> } = { reasoning: [], text: [] }
  const calls: Array<Message.ToolCallPart> = []
  let at = 0
  const course = (end: End): Course => ({
    contentAt,
    content: [
      ...(["reasoning", "text"] as const).flatMap((type) =>
        tokens[type].length === 0 ? [] : [{ type, text: tokens[type].join("") }]
      ),
      ...calls
    ],
    endAt: at,
    end
  })
  for (const action of actions) {
    const refusal = Refusal.of(action, now + at)
    if (refusal !== undefined) return course({ _tag: "Broken", failure: ProviderCall.failureOf(refusal).failure })
    switch (action._tag) {
      case "Wait":
        at += action.ms
        break
      case "Reasoning":
      case "Text":
        tokens[action._tag === "Text" ? "text" : "reasoning"].push(action.token)
        contentAt.push(at)
        break
      case "ToolCall":
        calls.push(ToolArguments.toCall({ toolCallId, toolName: action.name, text: action.input, wasCut: false }))
        contentAt.push(at)
        break
      case "Finish":
        contentAt.push(at)
        return course({ _tag: "Finished", finishReason: action.finishReason, usage: action.usage })
      case "Silence":
        return course({ _tag: "Silent" })
      default:
        break
    }
  }
  return course({ _tag: "Broken", failure: CallFailure.incomplete })
}
