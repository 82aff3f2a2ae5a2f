export { holdfast, type PatienceOptions, type Retry } from "./PatientCalls.ts"
export { model, provider } from "./Model.ts"
