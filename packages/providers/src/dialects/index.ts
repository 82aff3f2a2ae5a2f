/** Reads and writes answers in each provider's wire format, for calls that pass Holdfast as they are. */
export * as AnswerEnd from "./AnswerEnd.ts"
export * as ContentGate from "./ContentGate.ts"
export * as Dialect from "./Dialect.ts"
export * as Dialects from "./Dialects.ts"
export * as ErrorAnswer from "./ErrorAnswer.ts"
export * as AnswerFrames from "./AnswerFrames.ts"
export * as Heartbeats from "./Heartbeats.ts"
