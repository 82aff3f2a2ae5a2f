/** Patience for the AI SDK: the middleware, AI SDK models as providers of turns, and turns as streams of UI messages. */
export { holdfast } from "./PatientCalls.ts"
export { CallParked, type ParkOptions, type PatienceOptions, type Retry } from "holdfast"
export { type AnyModel, type ModelCallOptions, model, provider, providerOf } from "./AiSdkModel.ts"
export { uiMessageResponse, type UiMessageResponseOptions, uiMessageStream } from "./UiMessageStream.ts"
export type { UiMessageData, UiMessageMetadata, UiMessagePart } from "./UiMessageParts.ts"
