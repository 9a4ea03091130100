window.YTD.tweets.part0 = [
        {"tweet": {"id_str": "1", "full_text": "Rye &amp; oats https://t.co/a", "created_at": "Mon Jan 05 10:00:00 +0000 2026",
          "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org"}],
            "hashtags": [{"text": "bread"}]}}},
        {"tweet": {"id_str": "2", "full_text": "It rises.", "in_reply_to_status_id_str": "1",
          "created_at": "Mon Jan 05 10:01:00 +0000 2026"}},
        {"tweet": {"id_str": "3", "full_text": "RT @ben: x"}}]