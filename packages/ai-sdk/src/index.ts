export { holdfast, type PatienceOptions, type Retry } from "./PatientCalls.ts"
export { type AnyModel, type CallOptions, model, provider, providerOf } from "./Model.ts"
