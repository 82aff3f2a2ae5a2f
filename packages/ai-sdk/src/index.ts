export { holdfast } from "./PatientCalls.ts"
export type { PatienceOptions, Retry } from "holdfast"
export { model, provider } from "./Model.ts"
