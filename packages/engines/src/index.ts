/** The retry decisions of Holdfast for other engines: Temporal, Inngest, Trigger.dev, DBOS and Vercel's Workflow. */
export * from "./Engines.ts"
