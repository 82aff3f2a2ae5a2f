export { holdfast, type AnyAgentModel, type AnyModelProvider } from "./PatientModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
