/** Turns and calls that survive provider outages, in any program. `holdfast` runs turns, `patience` makes single calls. */
export { CallParked, type ParkOptions } from "./CallParked.ts"
export type { Engine } from "./Engine.ts"
export * from "./Events.ts"
export { holdfast, type Holdfast, type Options, type TurnOptions, type Unsubscribe } from "./Holdfast.ts"
export { HoldfastError } from "./HoldfastError.ts"
export type { Model, ModelEvent, ModelRequest, ToolDescription } from "./Model.ts"
export { cut, patience, type PatienceOptions, type Patient, type PatientCall, type Retry } from "./PatientCall.ts"
export type { RetryChoice, RetryOptions } from "./RetryChoice.ts"
export {
  durableObjectStore,
  type DurableObjectStorage,
  memoryStore,
  type Awaitable,
  type Store
} from "./KeyValueStore.ts"
export { tool, type Tool, type ToolContent, toolContent, type ToolContext, type Tools } from "./ToolFunctions.ts"
export type { Result, Turn, Wait } from "./TurnHandle.ts"
