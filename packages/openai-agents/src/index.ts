export { holdfast, type AnyModel, type AnyModelProvider } from "./PatientModel.ts"
export type { PatienceOptions, Retry } from "holdfast"
