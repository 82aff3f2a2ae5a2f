/**
 * Asks a language model of Effect AI for one response, as one attempt.
 *
 * Tools are described, and neither run nor checked: that is left to the caller (rule C9). An `error` part fails the attempt like any
 * other error (rule C3), and a stream without its `finish` part was cut (rule C6).
 */
import { FromAsyncIterable } from "@holdfast/providers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import { cut } from "holdfast/bridge"

type Options = LanguageModel.ProviderOptions

/** What is asked for. */
interface Request extends Pick<Options, "tools">, Partial<Pick<Options, "responseFormat" | "toolChoice">> {
  readonly prompt: Prompt.RawInput
}

/** A whole response; that of an object has its value. */
export interface Whole {
  readonly content: ReadonlyArray<Response.AnyPart>
  readonly value?: unknown
}

/** Asks for a whole response: text, or an object where the format is one. */
export const whole = (model: LanguageModel.LanguageModel, request: Request) => {
  const { type, ...format } = request.responseFormat ?? { type: "text" }
  const method = methodsOf(model)[type === "json" ? "generateObject" : "generateText"]
  return Stream.catch(Stream.fromEffect(method({ ...optionsOf(request), ...format })), thrown)
}

/** Asks for a response in parts. */
export const streamed = (model: LanguageModel.LanguageModel, request: Request) =>
  Stream.suspend(() => {
    let isFinished = false
    const parts = Stream.mapEffect(methodsOf(model).streamText(optionsOf(request)), (part) => {
      isFinished ||= part.type === "finish"
      return part.type === "error" ? Effect.fail<unknown>(part) : Effect.succeed(part)
    })
    const end = Stream.suspend(() => (isFinished ? Stream.empty : Stream.fail(cut())))
    return Stream.catch(Stream.concat(parts, end), thrown)
  })

// --- internal

/** The methods of a model, whose generic types follow from their options. */
interface Methods {
  readonly generateText: (options: object) => Effect.Effect<Whole, unknown>
  readonly generateObject: (options: object) => Effect.Effect<Whole, unknown>
  readonly streamText: (options: object) => Stream.Stream<Response.AnyPart, unknown>
}

const methodsOf = (model: LanguageModel.LanguageModel): Methods => model as never

const optionsOf = ({ prompt, toolChoice, tools }: Request) => ({
  prompt,
  toolChoice,
  toolkit: {
    tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
    handle: (name: string) => Effect.die(new Error(`The tool ${name} is not run with a single response.`))
  },
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
})

/** Hints of an endpoint count from the time at which its error came. */
const thrown = (error: unknown) =>
  Stream.unwrap(Effect.map(Clock.currentTimeMillis, (now) => Stream.fail(new FromAsyncIterable.Thrown(error, now))))
