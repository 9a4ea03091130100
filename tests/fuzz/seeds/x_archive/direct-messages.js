window.YTD.direct_messages.part0 = [{"dmConversation": {"conversationId": "7-8",
        "messages": [{"messageCreate": {"id": "b", "senderId": "8", "text": "A day.", "createdAt": "2026-01-05T10:01:00Z"}},
        {"messageCreate": {"id": "a", "senderId": "7", "text": "Rest?", "createdAt": "2026-01-05T10:00:00Z"}}]}}]