export { holdfast } from "./PatientCalls.ts"
export type { PatienceOptions, Retry } from "holdfast"
export { type AnyModel, type CallOptions, model, provider, providerOf } from "./Model.ts"
