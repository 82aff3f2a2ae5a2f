/** The retry decisions of Holdfast for other engines: Temporal, Inngest, Trigger.dev, DBOS and Vercel's Workflow. */
export * from "./Engines.ts"
export { type Failed, type EngineDirective, type DirectiveOptions, type Directives, directives } from "./Engines.ts"
