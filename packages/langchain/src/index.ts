/** Patience for LangChain: chat models that wait out provider outages. */
export { holdfast, type AnyLangChainModel } from "./LangChainModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
