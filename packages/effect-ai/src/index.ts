/** Patience for Effect AI: patient language models, and language models and Holdfast's providers as each other. */
export { provider } from "./ModelAsProvider.ts"
export { holdfast } from "./PatientLanguageModel.ts"
export { model } from "./ProviderAsModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
