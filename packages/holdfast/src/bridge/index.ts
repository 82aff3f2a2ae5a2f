/** Exports what packages need that make the models of another framework patient. */
export { cut, type Patient, patience } from "../PatientCall.ts"
export { policyOf } from "../RetryChoice.ts"
export * from "./Calls.ts"
export * from "./Messages.ts"
export * as Metadata from "./Metadata.ts"
export * from "./ResponseReader.ts"
export * from "./Usage.ts"
