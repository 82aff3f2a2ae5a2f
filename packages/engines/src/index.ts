export * from "./Engines.ts"
export { type Failed, type EngineDirective, type DirectiveOptions, type Directives, directives } from "./Directives.ts"
