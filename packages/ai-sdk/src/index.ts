export { holdfast, type MiddlewareOptions, type Retry } from "./Middleware.ts"
export { model, provider } from "./Model.ts"
