export * as ConversationView from "./view/ConversationView.ts"
