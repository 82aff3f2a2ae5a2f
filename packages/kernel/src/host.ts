/**
 * For adapters of native providers and for hosts that run turns themselves: what is beneath the ports.
 *
 * A program that runs turns with `Turn.runTurn` over its own ports needs none of it.
 */
export * as CallFailure from "./calls/CallFailure.ts"
export * as Engine from "./engine/Engine.ts"
export * as History from "./turn/History.ts"
export * as ModelContext from "./turn/ModelContext.ts"
export * as Monotonic from "./calls/Monotonic.ts"
export * as Performer from "./engine/Performer.ts"
export * as ProviderCall from "./calls/ProviderCall.ts"
export * as Push from "./calls/Push.ts"
export * as ResponseLimit from "./calls/ResponseLimit.ts"
export * as ResponseProgress from "./calls/ResponseProgress.ts"
export * as RetryEvent from "./turn/RetryEvent.ts"
export * as Sealing from "./turn/Sealing.ts"
export * as Spending from "./turn/Spending.ts"
export * as TextBuffer from "./calls/TextBuffer.ts"
export * as ToolQuestion from "./turn/ToolQuestion.ts"
