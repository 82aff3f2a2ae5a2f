/** Patience for the OpenAI Agents SDK: models and model providers that wait out provider outages. */
export { holdfast, type AnyAgentModel, type AnyModelProvider } from "./PatientModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
